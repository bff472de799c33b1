"""The IPython extension: ``%%kernelref``, ``%%kernelcases``, ``%%kernelinputs``, ``%%kernelbench`` and ``%kernelbench``."""

# mypy: disable-error-code="untyped-decorator"
# (IPython's decorators are not checked here, see pyproject.toml)

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, cell_magic, line_cell_magic, magics_class, no_var_expand

from kbeval_jupyter import api, sources
from kbeval_jupyter.errors import KernelBenchError, RequestError
from kbeval_jupyter.model.comparison import from_evaluation
from kbeval_jupyter.model.result import EvaluationResult
from kbeval_jupyter.notebook import argument_line, hybrid
from kbeval_jupyter.notebook.commands import COMPARE, REPLAY, Commands, is_command
from kbeval_jupyter.notebook.completion import Completion
from kbeval_jupyter.notebook.displayed_results import DisplayedResults
from kbeval_jupyter.notebook.help import help_text
from kbeval_jupyter.notebook.history import Entry, History
from kbeval_jupyter.notebook.replay import ReplayedTrial
from kbeval_jupyter.notebook.saved_problems import SavedProblems
from kbeval_jupyter.options import build_request, given_options
from kbeval_jupyter.widgets.live_display import LiveDisplay, NoDisplay, TextDisplay

if TYPE_CHECKING:
    import argparse

    from kbeval_jupyter.model.request import EvaluationRequest, Source

CELL = "the cell"


@dataclasses.dataclass(frozen=True)
class Started:
    """An evaluation that the magic waits for, and what becomes of its result."""

    entry: Entry
    display: LiveDisplay
    value: Callable[[EvaluationResult], Any]

    def outcome(self) -> EvaluationResult:
        """The result as far as it is known; that of a failed future says why it failed."""
        future = self.entry.running.future
        failed = not future.done() or future.cancelled() or future.exception() is not None
        return self.entry.running.evaluation.result() if failed else future.result()


@magics_class
class KernelBenchMagics(Magics):  # type: ignore[misc]  # IPython is not checked here
    """One instance a shell; holds the notebook's problems and history."""

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self.problems = SavedProblems()
        self.history = History()
        self.displayed = DisplayedResults(shell)
        self._commands = Commands(self.problems, self.history)
        self._parser = argument_line.make_parser()

    @no_var_expand
    @cell_magic
    def kernelref(self, line: str, cell: str) -> None:
        """Save the cell as the reference of a problem: ``%%kernelref softmax``. It is checked at once, not run."""
        name = self._name("kernelref", line)
        fmt = self.problems.save_reference(name, sources.from_cell(cell, CELL))
        self._say(f"saved reference {name} ({fmt} format)")

    @no_var_expand
    @cell_magic
    def kernelcases(self, line: str, cell: str) -> None:
        """Save the cell, a JSON list of objects, as the test cases of a functional problem: ``%%kernelcases softmax``."""
        name = self._name("kernelcases", line)
        count = self.problems.save_cases(name, sources.from_cell(cell, CELL))
        self._say(f"saved {count} test case{'s' if count != 1 else ''} for {name}")

    @no_var_expand
    @cell_magic
    def kernelinputs(self, line: str, cell: str) -> None:
        """Save the cell as custom inputs, get_inputs or generate_input with other shapes: ``%%kernelinputs softmax``."""
        name = self._name("kernelinputs", line)
        self.problems.save_inputs(name, sources.from_cell(cell, CELL))
        self._say(f"saved custom inputs {name}")

    @no_var_expand
    @line_cell_magic
    def kernelbench(self, line: str, cell: str | None = None) -> Any:  # noqa: D102 - the docstring is made below
        started = self._start(line, cell)
        if not isinstance(started, Started):
            return started
        with self._settled(started):
            hybrid.wait_blocking(started.entry.running, started.display.pump)
        return self._value(started)

    kernelbench.__doc__ = help_text()

    @no_var_expand
    @line_cell_magic
    def _kernelbench_awaited(self, line: str, cell: str | None = None) -> Any:
        """The twin that a top-level ``%%kernelbench`` is rewritten to."""

        async def awaited() -> Any:
            started = self._start(line, cell)
            if not isinstance(started, Started):
                return started
            with self._settled(started):
                await hybrid.wait_awaiting(started.entry.running, started.display.pump)
            return self._value(started)

        return awaited()

    # --- from the line to a running evaluation -------------------------------------------------------------------------

    def _start(self, line: str, cell: str | None) -> Any:
        """A Started to wait for, or the finished value of what needs no waiting."""
        words = argument_line.split(line, self.shell.user_ns)
        if cell is None and is_command(words):
            return self._command(words)
        options = self._parser.parse(words)
        if options.output is not None and not options.output.isidentifier():
            raise RequestError(f"-o takes the name of a variable, got {options.output!r}")
        request = self._request(options, cell)
        if options.dry_run:
            return self._bound(options.output, api.dry_run(request))
        if options.detach and not has_page(self.shell):
            raise RequestError("--detach needs a page that shows how it goes on; without one, leave it out and wait")
        started = self._launch(request, quiet=options.quiet, value=lambda result: self._bound(options.output, result))
        if not options.detach:
            return started
        _when_done(started, lambda: started.value(self._settle(started)))
        return None

    def _command(self, words: list[str]) -> Any:
        if words[0] == REPLAY:
            request = self._commands.replay(words[1:])
            case, trial = request.replay or ("", 0)
            return self._launch(request, quiet=True, value=lambda result: ReplayedTrial(case, trial, result))
        if words[0] == COMPARE:
            request = self._commands.compare(words[1:], self._parser)
            return self._launch(request, quiet=True, value=from_evaluation)
        answer = self._commands.run(words)
        if isinstance(answer, str):
            self._say(answer)
            return None
        return answer

    def _request(self, options: argparse.Namespace, cell: str | None) -> EvaluationRequest:
        implementation = self._implementation(options.impl, cell)
        reference, problem = self.problems.reference(options.ref)
        given = given_options(options)
        given["cases"] = self.problems.find_cases(options.cases) if options.cases else self.problems.cases.get(problem)
        given["inputs"] = self.problems.find_inputs(options.inputs) if options.inputs else self.problems.inputs.get(problem)
        given["vs"] = self.history.rival(options.vs) if options.vs else None
        given["name"] = options.name or self.history.next_label()
        return build_request(implementation, reference, given, problem_name=problem)

    @staticmethod
    def _implementation(path: str | None, cell: str | None) -> Source:
        if cell is None:
            if path is None:
                raise RequestError("%kernelbench as a line needs --impl FILE; as %%kernelbench it evaluates the rest of its cell")
            return sources.from_path(path)
        if path is not None:
            raise RequestError("the cell is the implementation: leave --impl out, or write %kernelbench with one percent sign")
        return sources.from_cell(cell, CELL)

    def _launch(self, request: EvaluationRequest, *, quiet: bool, value: Callable[[EvaluationResult], Any]) -> Started:
        display = self._display(quiet=quiet)
        running = api.start(request, display.on_event)
        started = Started(self.history.add(running), display, value)
        display.begin(running)
        return started

    def _display(self, *, quiet: bool) -> LiveDisplay:
        if quiet:
            return NoDisplay()
        if not has_page(self.shell):
            return TextDisplay(on_page=has_kernel(self.shell))
        from kbeval_jupyter.widgets.widget_display import WidgetDisplay  # widgets take long to import

        try:
            return WidgetDisplay()
        except KernelBenchError as error:
            self._say(f"no live view: {error.message} ({error.hint})")
            return TextDisplay(on_page=True)

    # --- from a running evaluation to the cell's value -----------------------------------------------------------------

    @contextmanager
    def _settled(self, started: Started) -> Iterator[None]:
        """However the waiting ends: what is shown is frozen and the history knows, later where the target is slow to stop."""
        try:
            yield
        finally:
            if started.entry.running.future.done():
                self._settle(started)
            else:
                _when_done(started, lambda: self._settle(started))

    @staticmethod
    def _settle(started: Started) -> EvaluationResult:
        result = started.outcome()
        started.entry.result = result
        started.display.finish(result)
        return result

    def _value(self, started: Started) -> Any:
        result = started.outcome()
        # In a terminal the value is printed as the cell's Out, and nowhere else.
        if has_kernel(self.shell):
            self.displayed.mark(result)
        return started.value(result)

    def _bound(self, variable: str | None, result: EvaluationResult) -> EvaluationResult:
        if variable:
            self.shell.user_ns[variable] = result
        return result

    def _name(self, magic: str, line: str) -> str:
        return argument_line.name_argument(magic, argument_line.split(line, self.shell.user_ns))

    @staticmethod
    def _say(text: str) -> None:
        print(text)  # noqa: T201 - a magic's answer is the cell's output


def _when_done(started: Started, action: Callable[[], object]) -> None:
    """Act later, on a thread of its own: the future's callbacks run on the loop of all evaluations, which must not wait."""
    started.entry.running.future.add_done_callback(lambda _future: threading.Thread(target=action, daemon=True).start())


def has_kernel(shell: Any) -> bool:
    """Whether this is a Jupyter kernel, not a terminal."""
    return getattr(shell, "kernel", None) is not None


def has_page(shell: Any) -> bool:
    """Whether a page shows the outputs as they come; nbclient and papermill, which nobody watches, allow no input."""
    if not has_kernel(shell):
        return False
    parent = shell.get_parent() or {}
    return bool(parent.get("content", {}).get("allow_stdin", True))


def _runs_evaluation(line: str) -> bool:
    words = line.split()
    return not is_command(words) or words[0] in (REPLAY, COMPARE)


class Extension:
    """Everything that was hooked into one shell, so that it can be taken out again."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self.magics = KernelBenchMagics(shell)
        self._depth = hybrid.CellDepth(shell)
        self._completion = Completion(shell, self.magics.problems, self.magics.history)
        shell.register_magics(self.magics)
        shell.input_transformers_post.append(self._transform)

    def close(self) -> None:
        """Undo all but the magics' names, which IPython cannot forget."""
        self._shell.input_transformers_post.remove(self._transform)
        self._depth.close()
        self._completion.close()
        self.magics.displayed.close()

    def _transform(self, lines: list[str]) -> list[str]:
        # In a terminal there is no message to handle meanwhile, and an interrupt ends a blocking wait more surely.
        if not (self._depth.outside and has_page(self._shell) and self._shell.autoawait):
            return lines
        return hybrid.with_await(lines, _runs_evaluation)


_extensions: dict[int, Extension] = {}


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext kbeval_jupyter``."""
    unload_ipython_extension(shell)
    _extensions[id(shell)] = Extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext kbeval_jupyter``."""
    extension = _extensions.pop(id(shell), None)
    if extension is not None:
        extension.close()
