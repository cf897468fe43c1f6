"""Search on an OpenSearch cluster: bound queries compiled to its query DSL, items published to it, answers judged here.

A cluster decides which items match and in which order. It is not trusted: the bytes of every hit are parsed, inspected
and judged here, by the user's own keys, and the scores shown are computed from those bytes::

    Registry(project).publish("opensearch+https://host:9200/registry")
    Registry(project, index="opensearch+https://host:9200/registry").search("deploy")
"""

__all__ = ()
