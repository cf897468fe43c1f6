"""Pages to look at: search, items, and where a verdict comes from; each page is also answered as JSON.

It only reads, and keeps no state: what a page shows is in its address. Importing ``serving`` loads neither the web
framework nor the registry.

Mount it into an application of your own::

    from rye.web.serving import app

    registry = Registry("/path/to/project")
    application = app(registry)  # an ASGI application
"""
