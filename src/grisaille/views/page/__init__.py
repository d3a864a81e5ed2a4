"""The live page: studies in a browser.

Starlette and uvicorn are ordinary dependencies, not an extra: they are small next to PyTorch, and a
newcomer meets no further installation step.
"""
