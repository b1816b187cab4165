"""The app as ``python -m probing.ui`` serves it, with what its server refuses; Streamlit finds ``app`` by its name."""

from starlette.middleware import Middleware
from streamlit.starlette import App

from probing.kernel.app.guard import Guard

app = App("app.py", middleware=[Middleware(Guard)])
