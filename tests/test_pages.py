"""Pages that are written to be followed from top to bottom: their code runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("page", ["curves", "loops"])
def test_the_code_of_the_page_runs_and_prints_its_texts(page: str, tmp_path: Path):
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for printed in re.findall(r"```text\n(.*?)```", text, flags=re.DOTALL):
        assert printed.strip() in done.stdout
