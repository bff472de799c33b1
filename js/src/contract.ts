// Generated from kbeval_jupyter/model by `python -m kbeval_jupyter.model.schema`. Do not edit.

export const MIME_TYPE = "application/vnd.kbeval.evaluation+json";

export type Verdict = "passed" | "incorrect" | "compile_failed" | "crashed" | "timed_out" | "rejected" | "invalid_reference" | "not_checked" | "cancelled" | "error";

export type StageName = "compile" | "correctness" | "benchmark" | "defense" | "profile";

export type StageStatus = "passed" | "failed" | "skipped";

export type PatternKind = "all" | "boundary" | "rows" | "columns" | "blocks" | "triangle" | "tail" | "slice" | "transposed" | "shifted" | "factor" | "offset" | "sign" | "nan" | "inf" | "zeros" | "constant" | "precision" | "scattered";

export type Claim = "FASTER" | "SLOWER" | "SAME" | "AMBIGUOUS";

/** Where one stage stands. ``done`` and ``total`` count its steps, ``total`` None where unknown. */
export interface StageProgress {
  stage: StageName;
  status: "waiting" | "running" | "passed" | "failed" | "skipped";
  done: number;
  total: number | null;
  message: string;
  seconds: number | null;
}

/** The device that did the work. */
export interface DeviceInfo {
  vendor: "nvidia" | "amd" | "cpu";
  name: string;
  architecture: string | null;
  memory_bytes: number | null;
  driver: string | null;
  index: number | null;
}

/** Where it ran. */
export interface TargetInfo {
  name: string;
  kind: string;
  device: DeviceInfo | null;
}

/** One hardening layer of the worker processes: whether it was active, and if not why. */
export interface IsolationLayer {
  name: string;
  active: boolean;
  reason: string;
}

/** How one stage ended. */
export interface StageReport {
  status: StageStatus;
  seconds: number | null;
  reason: string;
}

/** One wrong element. Values are numbers as text ("nan", "inf" included), so that JSON stays strict. */
export interface ElementSample {
  index: number[];
  expected: string;
  actual: string;
  abs: number | null;
}

/** Reduced picture of |error| over the tensor seen as two-dimensional; ``data`` is row-major, None where not finite. */
export interface Heatmap {
  rows: number;
  cols: number;
  reduce: "max";
  data: (number | null)[];
  row_step: number;
  col_step: number;
}

/** The comparison of one leaf of the output tree, at ``path`` such as ``[0]['y']`` (empty for a lone tensor). */
export interface OutputReport {
  path: string;
  shape: number[];
  dtype: string;
  rtol: number | null;
  atol: number | null;
  max_abs: number | null;
  max_abs_index: number[] | null;
  mean_abs: number | null;
  max_rel: number | null;
  mean_rel: number | null;
  mismatched: number;
  total: number;
  mismatched_pct: number;
  histogram: Record<string, number>;
  pattern: string | null;
  samples: ElementSample[];
  heatmap: Heatmap | null;
  pattern_kind: PatternKind | null;
}

/** One trial of one case: fresh inputs, both sides run, all outputs compared. */
export interface CaseReport {
  name: string;
  params: Record<string, unknown>;
  trial: number;
  status: "passed" | "failed";
  reason: string;
  warnings: string[];
  outputs: OutputReport[];
}

/** All trials of all cases. ``score`` is cases_passed / cases_total. */
export interface CorrectnessReport {
  cases_passed: number;
  cases_total: number;
  score: number;
  weights: "state_dict" | "seed" | null;
  cases: CaseReport[];
}

/** Statistics of one side of one case; quantiles are type 7. ``samples_ms`` holds at most 1,000, evenly taken. */
export interface TimingStats {
  samples_ms: number[];
  samples_total: number;
  median_ms: number | null;
  q1_ms: number | null;
  q3_ms: number | null;
  iqr_ms: number | null;
  mad_ms: number | null;
  mean_ms: number | null;
  min_ms: number | null;
  max_ms: number | null;
  std_ms: number | null;
  n: number;
  outliers: number;
  modes: number;
  throttled: number;
  reason: string;
}

/** Reference time / implementation time: above 1 the implementation is faster. Interval: 95 % cluster bootstrap. */
export interface Speedup {
  estimate: number;
  ci_low: number;
  ci_high: number;
  claim: Claim;
}

/** Times of one case. Untimed sides are None with the reason. */
export interface CaseTiming {
  name: string;
  params: Record<string, unknown>;
  implementation: TimingStats | null;
  reference: TimingStats | null;
  speedup: Speedup | null;
  stop_reason: string;
  reason: string;
  confirmed: boolean | null;
  confirmation: Speedup | null;
}

/** The device at one moment of the benchmark; None where that cannot be read. ``throttled`` says why clocks are held down. */
export interface DeviceState {
  moment: "before" | "during";
  clock_mhz: number | null;
  max_clock_mhz: number | null;
  memory_clock_mhz: number | null;
  power_w: number | null;
  power_limit_w: number | null;
  temperature_c: number | null;
  throttled: string[];
  governor: string | null;
  load_average: number | null;
  foreign_processes: string[];
}

/** The benchmark stage. ``method`` and ``stop_rule`` are sentences that say what really ran. */
export interface BenchmarkReport {
  method: string;
  flush_bytes: number;
  stop_rule: string;
  cases: CaseTiming[];
  geomean_speedup: number | null;
  worst_case: string | null;
  states: DeviceState[];
  precision: Record<string, string>;
}

/** One case of a comparison: the baseline's times, and how much faster than it the implementation is. */
export interface CaseComparison {
  name: string;
  baseline: TimingStats | null;
  speedup: Speedup | null;
  reason: string;
}

/** An implementation against a baseline that was timed with it in the same process groups: above 1 it is faster. */
export interface ComparisonReport {
  implementation: string;
  baseline: string;
  estimate: number | null;
  ci_low: number | null;
  ci_high: number | null;
  claim: Claim | null;
  speedup: Speedup | null;
  implementation_right: boolean | null;
  implementation_reason: string;
  baseline_right: boolean | null;
  baseline_reason: string;
  cases: CaseComparison[];
  worst_case: string | null;
}

/** One named check of the defense stage; it passes where it could not be made. ``evidence``: what was measured, by name. */
export interface DefenseCheck {
  name: string;
  passed: boolean;
  message: string;
  evidence: Record<string, unknown>;
}

/** All checks of the defense stage, in the order in which they were made. */
export interface DefenseReport {
  checks: DefenseCheck[];
}

/** One thing that was noticed. ``line`` is that of the file or cell as the user sees it, also for code inside a string. */
export interface Finding {
  kind: "own_kernel" | "library_call" | "torch_operator" | "warning";
  name: string;
  file: string;
  line: number;
  text: string;
}

/** Whether the implementation is one in the named language. ``reason`` says why it is not, or what was unclear. */
export interface StaticReport {
  backend: string;
  is_backend: boolean;
  reason: string;
  findings: Finding[];
}

/** A remark that belongs to the result. */
export interface NoteReport {
  code: string;
  text: string;
  level: string;
}

/** A file that the evaluation left, relative to the artifacts folder. */
export interface Artifact {
  name: string;
  path: string;
  bytes: number;
  sha256: string;
}

/** Why an evaluation ended in verdict "error": ours or the host's fault, never the implementation's. */
export interface Failure {
  kind: string;
  message: string;
  hint: string;
}

/** One evaluation, finished. ``passed`` is None where nothing was checked; ``speedup`` is the geometric mean or None. */
export interface EvaluationResult {
  schema: string;
  id: string;
  label: string;
  problem: string;
  verdict: Verdict;
  reason: string;
  format: string;
  seed: number;
  target: TargetInfo;
  environment: Record<string, string | null>;
  isolation: IsolationLayer[];
  stages: Record<string, StageReport>;
  correctness: CorrectnessReport | null;
  benchmark: BenchmarkReport | null;
  comparison: ComparisonReport | null;
  further_comparisons: ComparisonReport[];
  defense: DefenseReport | null;
  static: StaticReport | null;
  notes: NoteReport[];
  artifacts: Artifact[];
  log_tail: string[];
  input_secret: string | null;
  seconds: number | null;
  error: Failure | null;
}

/** An evaluation at one moment. While it runs, ``result`` is what is known so far and its verdict is "not_checked". */
export interface Snapshot {
  running: boolean;
  elapsed_s: number;
  stages: StageProgress[];
  result: EvaluationResult;
}

/** Python to view: finished lines from number ``from`` on, and the unfinished line of each source that has one. */
export interface LogMessage {
  from: number;
  lines: [string, string][];
  partial: [string, string][];
  replay: boolean;
  kind: "log";
}

/** View to Python: send the log again from line number ``from``. */
export interface SyncMessage {
  from: number;
  kind: "sync";
}

/** View to Python: stop the evaluation. */
export interface CancelMessage {
  kind: "cancel";
}
