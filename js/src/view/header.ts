import type { DeviceInfo, EvaluationResult, Snapshot } from '../contract';
import { leadingPattern } from './correctness';
import { h } from './dom';
import { formatElapsed, formatInterval, formatMemory, formatRatio, plural } from './units';
import { CLAIMS, MARKS, runningStage, STAGES, VERDICTS } from './verdict';

/** The finding first: verdict, reason, speedup; below it what was evaluated and where. */
export function renderHeader(snapshot: Snapshot, canCancel: boolean): HTMLElement {
  const { result, running } = snapshot;
  const { title, tone } = running ? { title: runningTitle(snapshot), tone: 'running' as const } : VERDICTS[result.verdict];
  return h(
    'header',
    { class: 'kb-header', 'data-tone': tone },
    h('span', { class: 'kb-mark', 'aria-hidden': 'true' }, MARKS[tone]),
    h(
      'div',
      { class: 'kb-finding' },
      h('h2', {}, title),
      !running && result.verdict === 'incorrect' && h('p', { class: 'kb-pattern' }, leadingPattern(result)),
      h('p', { class: 'kb-reason' }, running ? (runningStage(snapshot)?.message ?? '') : explanation(result)),
    ),
    running
      ? canCancel && h('button', { type: 'button', class: 'kb-cancel', 'data-action': 'cancel' }, 'Cancel')
      : renderSpeedup(result),
    h('p', { class: 'kb-subject' }, renderSubject(snapshot)),
  );
}

function runningTitle(snapshot: Snapshot): string {
  const stage = runningStage(snapshot);
  if (stage) return STAGES[stage.stage];
  return snapshot.stages.every((each) => each.status === 'waiting') ? 'Starting' : 'Finishing';
}

function explanation(result: EvaluationResult): string {
  const { error } = result;
  if (!error) return result.reason;
  return error.hint ? `${error.message} ${error.hint}` : error.message;
}

function renderSpeedup(result: EvaluationResult): HTMLElement | null {
  const speedup = result.benchmark?.geomean_speedup ?? null;
  if (speedup === null) return null;
  const cases = result.benchmark?.cases ?? [];
  const only = cases.length === 1 ? cases[0]?.speedup : null;
  const below = only
    ? `${CLAIMS[only.claim].title}, 95 % CI ${formatInterval(only)}`
    : `geometric mean of ${plural(cases.length, 'case')}`;
  return h(
    'p',
    { class: 'kb-speedup', 'data-tone': only ? CLAIMS[only.claim].tone : speedup >= 1 ? 'good' : 'bad' },
    h('strong', {}, formatRatio(speedup)),
    h('span', {}, below),
  );
}

function renderSubject({ result, elapsed_s }: Snapshot): HTMLElement[] {
  const device = result.target.device;
  const parts = [
    h('span', {}, [result.problem, result.label].filter(Boolean).join(' · ')),
    h('span', { title: `Target of kind ${result.target.kind}` }, `on ${result.target.name}`),
    device && h('span', { title: deviceDetails(device) }, device.name),
    h('span', { class: 'kb-elapsed' }, formatElapsed(elapsed_s)),
  ];
  return parts.filter((part) => part !== null);
}

/** Everything known about a device on one line. */
export function deviceDetails(device: DeviceInfo): string {
  return [
    device.name,
    device.architecture,
    device.memory_bytes === null ? null : formatMemory(device.memory_bytes),
    device.driver === null ? null : `driver ${device.driver}`,
    device.index === null ? null : `index ${device.index}`,
  ]
    .filter((part) => part !== null)
    .join(', ');
}
