// Shows a saved result in JupyterLab: no kernel, no widget state needed.

import type { IRenderMime } from '@jupyterlab/rendermime-interfaces';
import { Widget } from '@lumino/widgets';
import { type EvaluationResult, MIME_TYPE } from '../contract';
import { renderFrozen } from '../view/frozen';
import { claimKeys } from './keys';

class EvaluationRenderer extends Widget implements IRenderMime.IRenderer {
  private readonly lifetime = new AbortController();

  constructor() {
    super();
    claimKeys(this.node, this.lifetime.signal);
  }

  override dispose(): void {
    this.lifetime.abort();
    super.dispose();
  }

  async renderModel(model: IRenderMime.IMimeModel): Promise<void> {
    this.node.replaceChildren(renderFrozen(model.data[MIME_TYPE] as unknown as EvaluationResult));
  }
}

const extension: IRenderMime.IExtension = {
  id: 'kbeval-jupyter:evaluation',
  description: 'Shows the result of a kernel evaluation.',
  rendererFactory: { safe: true, mimeTypes: [MIME_TYPE], createRenderer: () => new EvaluationRenderer() },
  rank: 0,
  dataType: 'json',
};

export default extension;
