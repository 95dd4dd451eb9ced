"""An HTTP server that checks Lean: the API of kimina-lean-server, and a richer one of its own.

`listen.py` starts it, `app.py` puts it together, `kimina.py` and `proofs.py` are the two APIs.
"""
