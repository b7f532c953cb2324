"""Inspect AI's side of `against_inspect.py`, run by the Python of its own venv.

    python inspect_side.py eval FIXTURE TRIALS WORKERS LOGS TOOL
    python inspect_side.py frame LOGS

`eval`: a mock model writes one file with one tool call and says that it is done;
the scorer makes the three checks of the grader of `tinyroot.py`, each call of the
delivered function in a fresh child. TOOL is `write`, which writes through the sandbox
and starts no process, the cheapest there is, or `bash`, Inspect's own. `frame`: the log
as a data frame; prints how many rows it has.
"""

from __future__ import annotations

import json
import random
import string
import sys
from pathlib import Path

WEIGHTS = {"says-hello": 1, "says-name": 2, "keeps-readme": 1}
DELIVERED = "def greet(name):\n    return f'hello {name}'\n"
TOOL_CALLS = {
    "write": {"path": "greet.py", "content": DELIVERED},
    "bash": {"command": f"cat > greet.py <<'END'\n{DELIVERED}END"},
}
CALL = (
    "import json, sys; sys.path.insert(0, '.'); import greet; "
    "print(json.dumps(greet.greet(sys.argv[1])))"
)


def evaluate(
    fixture: Path, n_trials: int, n_workers: int, logs: Path, tool_name: str
) -> None:
    import inspect_ai
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import Score, mean, scorer
    from inspect_ai.solver import generate, use_tools
    from inspect_ai.tool import bash, tool
    from inspect_ai.util import sandbox

    # Without usage the mock model would estimate tokens, and fetch a table for that.
    usage = ModelUsage(input_tokens=9000, output_tokens=300, total_tokens=9300)

    @tool
    def write():
        async def execute(path: str, content: str) -> str:
            """Write a file.

            Args:
                path: Its path.
                content: Its content.
            """
            await sandbox().write_file(path, content)
            return "written"

        return execute

    def answer(messages, *_):
        if messages[-1].role == "tool":
            said = ModelOutput.from_content("mockllm", "The work is done.")
        else:
            said = ModelOutput.for_tool_call(
                "mockllm", tool_name, TOOL_CALLS[tool_name]
            )
        said.usage = usage
        return said

    @scorer(metrics=[mean()])
    def grader():
        async def score(state, _target):
            rng = random.Random(f"1:{state.sample_id}")

            async def call(word: str) -> object:
                argv = [sys.executable, "-I", "-S", "-B", "-c", CALL, word]
                return json.loads((await sandbox().exec(argv)).stdout)

            def word() -> str:
                return "".join(rng.choices(string.ascii_lowercase, k=8))

            said = await call(word())
            name = word()
            passed = {
                "says-hello": isinstance(said, str) and said.startswith("hello"),
                "says-name": await call(name) == f"hello {name}",
                "keeps-readme": "hello NAME" in await sandbox().read_file("README.md"),
            }
            won = sum(WEIGHTS[check] for check, held in passed.items() if held)
            return Score(value=won / sum(WEIGHTS.values()), metadata=passed)

        return score

    tools = {"write": write, "bash": bash}
    files = {path.name: str(path) for path in sorted(fixture.iterdir())}
    asked = "Please make greet() greet the person by name."
    samples = [Sample(asked, id=n + 1, files=files) for n in range(n_trials)]
    (log,) = inspect_ai.eval(
        inspect_ai.Task(
            MemoryDataset(samples),
            solver=[use_tools(tools[tool_name]()), generate()],
            scorer=grader(),
            sandbox="local",
        ),
        model=get_model("mockllm/model", custom_outputs=answer),
        display="none",
        log_dir=str(logs),
        max_samples=n_workers,
        max_subprocesses=n_workers,
        max_connections=n_workers,
    )
    assert log.status == "success", log.error
    assert log.results.scores[0].metrics["mean"].value == 1, log.results
    assert log.results.completed_samples == n_trials, log.results


def frame(logs: Path) -> None:
    from inspect_ai.analysis import samples_df

    print(len(samples_df(str(logs))))


if __name__ == "__main__":
    wanted, *given = sys.argv[1:]
    if wanted == "eval":
        fixture, n_trials, n_workers, logs, tool_name = given
        evaluate(Path(fixture), int(n_trials), int(n_workers), Path(logs), tool_name)
    else:
        frame(Path(given[0]))
