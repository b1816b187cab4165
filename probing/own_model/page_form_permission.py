"""Whether a user may start work on this server: only the person who sits at it."""

import os
from urllib.parse import urlsplit

import streamlit as st

from probing.kernel.app.texts import Markdown

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
#: Headers that a proxy adds.
_OF_PROXIES = ("X-Forwarded-For", "X-Real-Ip", "Forwarded")


def why_not() -> Markdown | None:
    """Why no run can be started from this page; None if it can.

    The server must listen on this machine only, ``PROBING_PUBLIC`` must be unset, and the request must have come to
    this machine's own name without a proxy.
    """
    if os.environ.get("PROBING_PUBLIC"):
        return Markdown("This server is public (`PROBING_PUBLIC`), so it starts no runs.")
    if st.get_option("server.address") not in _LOOPBACK:
        return Markdown("This server can be reached from other machines, so it starts no runs.")
    headers = st.context.headers
    host = headers.get("Host")
    if any(name in headers for name in _OF_PROXIES) or (host and urlsplit(f"//{host}").hostname not in _LOOPBACK):
        return Markdown("This page came through a proxy or under another name, so it starts no runs.")
    return None
