// Development only: the views with data from tests/golden, without Jupyter. `node build.mjs --harness`, then serve the checkout and open
// harness/index.html with ?theme=light|dark&width=400&view=frozen&result=incorrect or &view=live&rate=50000 (lines a second).

import type { EvaluationResult, Snapshot, StageProgress } from '../src/contract';
import type { Host, Listener } from '../src/hosts/host';
import { LogBuffer } from '../src/log/buffer';
import { renderFrozen } from '../src/view/frozen';
import { LiveView } from '../src/view/live';

const options = new URLSearchParams(location.search);
const stage = document.getElementById('stage') as HTMLElement;
const theme = options.get('theme') ?? 'light';
document.body.dataset.jpThemeLight = String(theme === 'light');
document.body.style.background = theme === 'light' ? '#fff' : '#111';
stage.style.width = `${options.get('width') ?? 1000}px`;

const response = await fetch(`../../tests/golden/${options.get('result') ?? 'incorrect'}.json`);
const golden: EvaluationResult = await response.json();

if (options.get('view') === 'live') playLive();
else stage.append(renderFrozen(golden));

/** A run that never ends: stages part done, a log that goes on at the asked rate. */
function playLive(): void {
  const log = new LogBuffer();
  const listeners = new Set<Listener>();
  const begun = performance.now();
  const rate = Number(options.get('rate') ?? 200);
  let sent = 0;
  const host: Host = {
    log,
    snapshot: () => liveSnapshot((performance.now() - begun) / 1_000),
    cancel: () => stage.append('cancelled'),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  new LiveView(stage, host);
  setInterval(() => {
    const due = Math.floor((rate * (performance.now() - begun)) / 1_000);
    const lines: [string, string][] = [];
    for (; sent < due; sent++) lines.push([SOURCES[Math.floor(sent / 20) % 3] ?? 'build', sampleLine(sent)]);
    log.append(lines);
    log.setPartial([
      ['implementation', `autotuning  10%|█\rautotuning ${String(due % 100).padStart(3)}%|████▌     | config ${due}`],
    ]);
    for (const listener of listeners) listener.log();
  }, 33);
  setInterval(() => {
    for (const listener of listeners) listener.snapshot();
  }, 100);
}

const SOURCES = ['build', 'implementation', 'reference'];

function sampleLine(i: number): string {
  const samples = [
    `[${i}/2] nvcc --generate-dependencies-with-compile -O3 -std=c++17 -arch=sm_90a -c kernel.cu -o kernel.o`,
    `\u001b[1mkernel.cu(14)\u001b[0m: \u001b[35mwarning\u001b[0m: variable \u001b[1m"unused_${i}"\u001b[0m was declared but never referenced`,
    `\u001b[32mblock 128x64\u001b[0m  \u001b[38;5;208mstages 4\u001b[0m  \u001b[38;2;120;160;255mwarps 8\u001b[0m  0.412 ms`,
    `line ${i}: the quick brown fox jumps over the lazy dog, as foxes do`,
  ];
  return samples[i % samples.length] ?? '';
}

function liveSnapshot(elapsed_s: number): Snapshot {
  const stages: StageProgress[] = [
    { stage: 'compile', status: 'passed', done: 1, total: 1, message: '', seconds: 3.21 },
    {
      stage: 'correctness',
      status: 'running',
      done: Math.floor(elapsed_s) % 7,
      total: 6,
      message: 'case large, trial 2',
      seconds: null,
    },
    { stage: 'benchmark', status: 'waiting', done: 0, total: null, message: '', seconds: null },
  ];
  return { running: true, elapsed_s, stages, result: { ...golden, verdict: 'not_checked', benchmark: null } };
}
