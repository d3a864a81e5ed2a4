"""Run as a script: cells in a real kernel. JSON comes in and goes out.

A process of its own, because the libraries of Jupyter leave sockets open, and warn about that.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import nbclient
import nbformat
from jupyter_client.manager import KernelManager, start_new_kernel

CLICK = {"method": "custom", "content": {"event": "click"}}


def executed(cells: list[str]) -> list[list[Any]]:
    """The outputs of the cells of a notebook."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    manager = KernelManager(kernel_name="python3", transport="ipc")
    nbclient.NotebookClient(notebook, km=manager, timeout=120).execute()
    return [cell.outputs for cell in notebook.cells]


def stopped(code: str) -> str:
    """What some code prints when its Stop button is pressed after two updates of the view."""
    manager, client = start_new_kernel(kernel_name="python3", startup_timeout=60)
    sent, button, updates, printed = client.execute(code), "", 0, ""
    while True:
        message = client.get_iopub_msg(timeout=60)
        kind, content = message["msg_type"], message["content"]
        if kind == "error":
            raise RuntimeError(content["evalue"])
        if kind == "comm_open" and content["data"]["state"]["_model_name"] == "ButtonModel":
            button = content["comm_id"]
        if kind == "stream":
            printed += content["text"]
        if kind == "update_display_data":
            updates += 1
            if updates == 2:
                data = {"comm_id": button, "data": CLICK}
                client.shell_channel.send(client.session.msg("comm_msg", data))
        own = message["parent_header"].get("msg_id") == sent
        if own and content.get("execution_state") == "idle":
            break
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    return printed


if __name__ == "__main__":
    job = json.load(sys.stdin)
    done = executed(job["cells"]) if "cells" in job else stopped(job["code"])
    json.dump(done, sys.stdout)
