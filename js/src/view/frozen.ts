import type { EvaluationResult, Snapshot } from '../contract';
import { h } from './dom';
import { renderHeader } from './header';
import { renderResults } from './results';
import { finishedStages, renderStages } from './stages';

/** A finished evaluation, complete, from its JSON alone. */
export function renderFrozen(result: EvaluationResult): HTMLElement {
  const stages = finishedStages(result);
  const snapshot: Snapshot = { running: false, elapsed_s: result.seconds ?? 0, stages, result };
  return h(
    'article',
    { class: 'kb', 'aria-label': 'Kernel evaluation' },
    renderHeader(snapshot, false),
    stages.length > 0 && renderStages(stages),
    renderResults(result, true),
  );
}
