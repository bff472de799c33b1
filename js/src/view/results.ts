import type { EvaluationResult } from '../contract';
import { renderBenchmark } from './benchmark';
import { renderCorrectness } from './correctness';
import { renderNotes, renderSurroundings } from './details';
import { h } from './dom';

/** All evidence of a result, as far as there is any; what failed comes before how fast it was. */
export function renderResults(result: EvaluationResult): HTMLElement {
  return h(
    'div',
    { class: 'kb-results' },
    result.benchmark && result.verdict === 'passed' && renderBenchmark(result.benchmark),
    result.correctness && renderCorrectness(result.correctness),
    result.benchmark && result.verdict !== 'passed' && renderBenchmark(result.benchmark),
    renderNotes(result.notes),
    renderSurroundings(result),
  );
}

/** Changes whenever `renderResults` would show something else. */
export const resultsFingerprint = (result: EvaluationResult): string =>
  [
    result.verdict,
    result.correctness?.cases.length ?? 0,
    result.correctness?.weights,
    result.benchmark?.cases.length ?? -1,
    result.notes.length,
    result.artifacts.length,
    Object.keys(result.environment).length,
  ].join('|');
