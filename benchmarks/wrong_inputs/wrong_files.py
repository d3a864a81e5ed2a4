"""Files for the command line: a problem, files that define none, and tables that are not right."""

from __future__ import annotations

PROBLEM = """\
import grisaille as gs

x = gs.Variable("x", lower=0, upper=1)
f = gs.BlackBox(lambda x: (x - 0.3) ** 2, name="f", noise=0)
problem = gs.Problem(minimize=f(x))
strategy = gs.RandomSearch()
"""

WRONG_PROBLEMS: dict[str, str | bytes] = {
    "empty.py": "",
    "syntax.py": "import grisaille as gs\nproblem = = 3\n",
    "indent.py": "  x = 1\n y = 2\n",
    "nulls.py": b"x = 1\x00\n",
    "latin.py": "problem = 'é'\n".encode("latin-1"),
    "binary.py": bytes(range(256)),
    "raises.py": "raise ValueError('[/red] \\x1b[2J')\n",
    "long_text.py": "raise ValueError('x' * 100_000)\n",
    "no_text.py": "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E()\n",
    "imports.py": "import there_is_no_such_module\n",
    "exits.py": "import sys\nsys.exit(0)\n",
    "exits_with_text.py": "raise SystemExit('good bye')\n",
    "interrupts.py": "class Stop(BaseException): pass\nraise Stop('stop')\n",
    "recursion.py": "def f(): return f()\nf()\n",
    "none.py": "problem = None\n",
    "class.py": "import grisaille as gs\nproblem = gs.Problem\n",
    "number.py": "problem = 3\n",
    "hostile.py": "class P:\n    def __getattr__(self, n): raise RuntimeError(n)\nproblem = P()\n",
    "strategy_class.py": PROBLEM.replace("RandomSearch()", "RandomSearch"),
    "strategy_text.py": PROBLEM.replace("gs.RandomSearch()", "'x' * 100_000"),
    "strategy_hostile.py": PROBLEM.replace(
        "gs.RandomSearch()", "type('P', (), {'__repr__': lambda self: 1 / 0})()"
    ),
    "wrong_bounds.py": PROBLEM.replace("lower=0", "lower=2"),
    "wrong_call.py": PROBLEM.replace("f(x)", "f(x, x)"),
    "no_box.py": PROBLEM.replace("f(x))", "3)"),
}

TABLES: dict[str, str | bytes] = {
    "no_rows.csv": "",
    "header.csv": "x,f\n",
    "numbers.csv": "0.5,0.25\n0.75,0.5\n",
    "one_column.csv": "x\n0.5\n",
    "three_columns.csv": "x,y,f\n0.5,1,2\n",
    "text.csv": "x,f\n0.5,high\n",
    "blank_cell.csv": "x,f\n0.5,\n",
    "nan.csv": "x,f\nnan,0.5\n",
    "inf.csv": "x,f\n0.5,inf\n",
    "huge.csv": "x,f\n0.5,1e999\n",
    "truth.csv": "x,f\n0.5,True\n",
    "date.csv": "x,f\n0.5,2026-01-02\n",
    "complex.csv": "x,f\n0.5,1+2j\n",
    "commas.csv": 'x,f\n"0,5","0,25"\n',
    "ragged.csv": "x,f\n0.5,0.25\n0.5,0.25,0.75\n",
    "short_rows.csv": "x,f\n0.5\n",
    "quote.csv": 'x,f\n"0.5,0.25\n',
    "twice.csv": "x,x\n0.5,0.25\n",
    "binary.csv": bytes(range(256)),
    "utf16.csv": "x,f\n0.5,high\n".encode("utf-16"),
    "latin.csv": "x,é\n0.5,é\n".encode("latin-1"),
    "nulls.csv": b"x,f\n0.5,\x00\n",
    "escapes.csv": "x,f\n0.5,\x1b[2J\n",
    "long_cell.csv": "x,f\n0.5," + "y" * 100_000 + "\n",
    "json.csv": '{"x": 0.5, "f": 0.25}\n',
    "lines.csv": "\n\n\n",
}

# The study has one open query, 1-1 of black box f at x.
SHEETS: dict[str, str | bytes] = {
    "unrecorded.csv": "id,x,f,failed\n1-1,0.5,high,\n",
    "no_sheet.csv": "query,x,f\n1-1,0.5,0.25\n",
    "no_query.csv": "id,x,f\n9-9,0.5,0.25\n",
    "date_id.csv": "id,x,f\n1-Jan,0.5,0.25\n",
    "no_id.csv": "id,x,f\n,0.5,0.25\n",
    "no_input.csv": "id,x,f\n1-1,,0.25\n",
    "no_column.csv": "id,f\n1-1,0.25\n",
    "no_output.csv": "id,x,failed\n1-1,0.5,\n",
    "decimal_comma.csv": 'id,x,f\n1-1,0.5,"0,25"\n',
    "decimal_commas.csv": "id,x,f\n1-1,0,5,0,25\n",
    "both.csv": "id,x,f,failed\n1-1,0.5,0.25,the pump\n",
    "dash.csv": "id,x,f\n1-1,0.5,-\n",
    "infinite.csv": "id,x,f\n1-1,0.5,inf\n",
    "other_box.csv": "id,box,x,f\n1-1,g,0.5,0.25\n",
    "other_trial.csv": "id,trial,x,f\n1-1,7,0.5,0.25\n",
    "two_answers.csv": "id,x,f\n1-1,0.5,0.25\n1-1,0.5,0.5\n",
    "two_columns.csv": "id,x,x,f\n1-1,0.5,0.5,0.25\n",
    "torn.csv": 'id,x,f\n1-1,0.5,"0.25\n',
    "strange.csv": "id,x,f\n1-1,0.5,\x1b[2J\n",
    "long.csv": "id,x,f\n" + "9" * 20_000 + ",0.5,0.25\n",
}
