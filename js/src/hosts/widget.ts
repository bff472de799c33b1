// The module of the notebook widget (anywidget calls the default export once for each widget).

import type { CancelMessage, LogMessage, Snapshot, SyncMessage } from '../contract';
import { LogBuffer } from '../log/buffer';
import { LogStream } from '../log/stream';
import { LiveView } from '../view/live';
import type { Host, Listener } from './host';

/** The part of anywidget's model that is used here. */
interface Model {
  get(name: 'state'): Snapshot;
  send(message: SyncMessage | CancelMessage): void;
  on(event: string, listener: (message: LogMessage) => void): void;
  off(event: string, listener: (message: LogMessage) => void): void;
}

export default function createWidget() {
  const log = new LogBuffer();
  const listeners = new Set<Listener>();

  return {
    // Messages that arrive before a view exists would be lost: the model listens, not the view.
    initialize({ model }: { model: Model }) {
      const stream = new LogStream(log, (from) => model.send({ kind: 'sync', from }));
      model.on('msg:custom', (message) => {
        if (message.kind !== 'log') return;
        stream.receive(message);
        for (const listener of listeners) listener.log();
      });
      model.on('change:state', () => {
        for (const listener of listeners) listener.snapshot();
        if (!model.get('state').running) stream.sync(); // the last message may be the one that was dropped
      });
      stream.sync();
    },

    render({ model, el }: { model: Model; el: HTMLElement }) {
      const host: Host = {
        log,
        snapshot: () => model.get('state'),
        cancel: () => model.send({ kind: 'cancel' }),
        subscribe(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      };
      const view = new LiveView(el, host);
      return () => view.dispose();
    },
  };
}
