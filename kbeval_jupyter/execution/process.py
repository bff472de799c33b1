"""The executor for every target that gives us processes: the runner's link, over any transport."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import anyio

from kbeval_jupyter.errors import ConnectionLostError, ProtocolError, TargetError
from kbeval_jupyter.execution import archive
from kbeval_jupyter.execution.decoder import EventDecoder
from kbeval_jupyter.execution.link import LinkConnection, LinkStream
from kbeval_jupyter.runner import wire

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from kbeval_jupyter.execution.base import Capabilities
    from kbeval_jupyter.transports.base import Transport

_CANCEL_LIMIT_S = 2.0
_RECONNECT_PAUSE_LIMIT_S = 5.0
_REMEMBERED = 64  # evaluations whose artifacts can still be fetched


@dataclass
class _Evaluation:
    run_dir: str | None = None
    link: LinkConnection | None = None
    cancelled: bool = False
    artifacts: list[dict[str, Any]] = field(default_factory=list)
    lost_at: float | None = None  # monotonic; None while events come

    def lost_for(self) -> float:
        """Seconds since the connection was lost, which is now where it was not lost before."""
        if self.lost_at is None:
            self.lost_at = time.monotonic()
        return time.monotonic() - self.lost_at


class ProcessExecutor:
    """Runs plans through one link, which is started when needed and again when it died.

    ``python`` is the host's interpreter (default: the one that runs this), ``folder`` where the runner's archive lies on the
    host (default: this user's cache folder on this machine), ``environment`` what the link gets on top of the host's own,
    ``runner`` another archive than this installation's.
    """

    def __init__(
        self,
        transport: Transport,
        capabilities: Capabilities,
        *,
        python: str | None = None,
        folder: PurePosixPath | None = None,
        environment: Mapping[str, str] | None = None,
        runner: archive.Archive | None = None,
    ) -> None:
        self._transport = transport
        self._capabilities = capabilities
        self._python = python or sys.executable
        self._folder = folder
        self._environment = dict(environment or {})
        self._runner = runner
        self._link: LinkConnection | None = None
        self._lock = asyncio.Lock()
        self._evaluations: dict[str, _Evaluation] = {}

    def capabilities(self) -> Capabilities:
        """What the target offers."""
        return self._capabilities

    async def run(self, plan: wire.Plan) -> AsyncGenerator[dict[str, Any], None]:
        """The evaluation's events; closing the iterator early cancels it."""
        evaluation = self._remember(plan.id)
        decoder = EventDecoder()
        retried = False
        try:
            stream = await self._start(plan, evaluation)
            while not decoder.finished:
                try:
                    item = await stream.next()
                except ConnectionLostError as error:
                    if evaluation.run_dir is None and not retried:  # the link had died since its last evaluation
                        retried = True
                        stream = await self._start(plan, evaluation)
                    else:
                        stream = await self._resume(plan, evaluation, decoder, error)
                    continue
                if isinstance(item, dict):
                    evaluation.run_dir = item.get("run_dir", evaluation.run_dir)
                    continue
                evaluation.lost_at = None
                event = decoder.decode(item)
                if event["kind"] == wire.ArtifactSaved.kind:
                    evaluation.artifacts.append(event["artifact"])
                yield event
        finally:
            if evaluation.link is not None:
                if not decoder.finished:
                    with anyio.move_on_after(_CANCEL_LIMIT_S, shield=True):
                        await self.cancel(plan.id)
                evaluation.link.forget(plan.id)
                evaluation.link = None

    async def cancel(self, evaluation_id: str) -> None:
        """Stop an evaluation; unknown or finished ones are left alone."""
        evaluation = self._evaluations.get(evaluation_id)
        if evaluation is None:
            return
        evaluation.cancelled = True
        if evaluation.link is not None and evaluation.link.alive:
            try:
                await evaluation.link.cancel(evaluation_id)
            except ConnectionLostError:
                return  # the supervisor ends it: its client is gone

    async def fetch_artifacts(self, evaluation_id: str, destination: Path, limit_bytes: int) -> list[Path]:
        """Copy the artifacts of an evaluation here; raises ``TargetError`` where one was damaged or is too large."""
        evaluation = self._evaluations.get(evaluation_id)
        if evaluation is None or evaluation.run_dir is None:
            raise TargetError(f"evaluation {evaluation_id} has no artifacts on this target any more")
        fetched = []
        left = limit_bytes
        for artifact in evaluation.artifacts:
            relative = _safe(artifact["path"])
            path = destination / relative
            left -= await self._transport.fetch(PurePosixPath(evaluation.run_dir, "artifacts", relative), path, left)
            if await anyio.to_thread.run_sync(_sha256, path) != artifact["sha256"]:
                raise TargetError(f"artifact {artifact['name']!r} was damaged on its way: its checksum differs")
            fetched.append(path)
        return fetched

    async def aclose(self) -> None:
        """Leave the target; evaluations of ours that still run see their client go."""
        async with self._lock:
            if self._link is not None:
                await self._link.aclose()
                self._link = None
        await self._transport.aclose()

    # --- the link -------------------------------------------------------------------------------------------------------

    async def _start(self, plan: wire.Plan, evaluation: _Evaluation) -> LinkStream:
        link = evaluation.link = await self._connected()
        stream = await link.run(plan)
        if evaluation.cancelled:
            await self.cancel(plan.id)
        return stream

    async def _resume(
        self, plan: wire.Plan, evaluation: _Evaluation, decoder: EventDecoder, error: ConnectionLostError
    ) -> LinkStream:
        """Take the evaluation up again, as long as it waits for us."""
        if plan.grace_s <= 0 or evaluation.run_dir is None or error.kind == "gone":
            raise error
        while True:
            lost_s = evaluation.lost_for()
            if lost_s > plan.grace_s:
                message = f"the connection to the target was lost and did not come back within {plan.grace_s:g} s"
                raise ConnectionLostError(message, error.message)
            await anyio.sleep(min(lost_s / 2, _RECONNECT_PAUSE_LIMIT_S))
            try:
                link = evaluation.link = await self._connected()
            except ConnectionLostError:
                continue
            stream = await link.follow(plan.id, evaluation.run_dir, decoder.next_seq - 1)
            if evaluation.cancelled:
                await self.cancel(plan.id)
            return stream

    async def _connected(self) -> LinkConnection:
        async with self._lock:
            if self._link is None or not self._link.alive:
                if self._link is not None:
                    await self._link.aclose()
                    self._link = None
                self._link = await self._open_link()
            return self._link

    async def _open_link(self) -> LinkConnection:
        runner = await anyio.to_thread.run_sync(archive.build) if self._runner is None else self._runner
        folder = self._folder
        if folder is None:
            folder = PurePosixPath(await anyio.to_thread.run_sync(archive.cached, runner)).parent
        path = folder / runner.name
        argv = [self._python, "-I", "-S", str(path), "link"]
        complaint = ""
        for missing in (True, False):
            link = LinkConnection(await self._transport.start(argv, self._environment))
            try:
                greeted = await link.greet()
                complaint = "" if greeted else await link.stderr_tail()
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await link.aclose()
                raise
            if greeted:
                break
            await link.aclose()
            # The usual case is that the archive is there already, and trying costs nothing then.
            if missing and str(path) in complaint:
                await self._transport.put({path: runner.data})
            else:
                raise TargetError(f"the runner does not start with {self._python}", complaint.strip(), kind="runner_failed")
        if link.hello.get("runner") != runner.runner:
            await link.aclose()
            raise ProtocolError(f"the target runs runner {link.hello.get('runner')!r}, expected {runner.runner!r}")
        return link

    def _remember(self, evaluation_id: str) -> _Evaluation:
        if evaluation_id in self._evaluations:
            raise ProtocolError(f"evaluation {evaluation_id} exists already on this target")
        while len(self._evaluations) >= _REMEMBERED:
            oldest = next((k for k, v in self._evaluations.items() if v.link is None), None)
            if oldest is None:
                break
            del self._evaluations[oldest]
        evaluation = self._evaluations[evaluation_id] = _Evaluation()
        return evaluation


def _safe(path: str) -> PurePosixPath:
    relative = PurePosixPath(path)
    if relative.is_absolute() or ".." in relative.parts or not relative.parts:
        raise ProtocolError(f"an artifact has the path {path!r}, which leads out of its folder")
    return relative


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
