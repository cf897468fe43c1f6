"""Pages for a browser: search, items, and the reasons of verdicts; each page is also available as JSON.

The pages only read, and keep no state: an address says everything. Importing ``serving`` loads neither the web
framework nor the registry.

Mount it into an application of your own::

    from rye.web.serving import app

    registry = Registry("/path/to/project")
    application = app(registry)  # an ASGI application
"""
