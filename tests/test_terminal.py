import io

from kbeval_jupyter.model.evaluation import Evaluation
from kbeval_jupyter.model.result import TargetInfo
from kbeval_jupyter.terminal import CLEAR_LINE, TerminalProgress, bar_line
from tests.model.test_evaluation import plan


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def running() -> Evaluation:
    evaluation = Evaluation(plan(), TargetInfo("h100", "local"))
    evaluation.apply({"kind": "stage_started", "stage": "correctness", "total": 6, "seq": 0, "t": 0.5})
    evaluation.apply({"kind": "progress", "stage": "correctness", "done": 3, "message": "small", "seq": 1, "t": 2.0})
    return evaluation


def test_the_bar_shows_steps_and_time() -> None:
    assert bar_line(running().snapshot()) == "correctness [############------------] 3/6 small  2.0 s"
    assert bar_line(Evaluation(plan(), TargetInfo("h100", "local")).snapshot()) == "h100: waiting  0.0 s"


def test_text_goes_above_the_bar_and_the_end_is_clean() -> None:
    screen = Screen()
    progress = TerminalProgress(screen)
    progress.draw(running().snapshot())
    progress.on_event({"kind": "log", "source": "implementation", "text": "hello\n"})
    progress.close()
    text = screen.getvalue()
    assert text.startswith(CLEAR_LINE + "correctness [")
    assert CLEAR_LINE + "  hello\n" in text
    assert text.endswith(CLEAR_LINE)


def test_a_pipe_gets_no_bar() -> None:
    pipe = io.StringIO()
    progress = TerminalProgress(pipe)
    progress.draw(running().snapshot())
    progress.close()
    assert pipe.getvalue() == ""
