"""Reading explored instances: `ContextClient`, and the forest as text."""

from autocontext.client.client import ContextClient, open_client
from autocontext.client.forest import render_forest

__all__ = ["ContextClient", "open_client", "render_forest"]
