/** A process that answers over the line to the one that forked it. */
import { pipeOf } from '../../src/peers/pipe.ts'
import { createPrimaryLine } from '../../src/peers/primary-line.ts'

const line = createPrimaryLine({
  pipe: pipeOf(process),
  limits: { questionsMax: 10, answerTimeoutMs: 10_000, messageBytesMax: 4_000_000 },
  monotonic: () => performance.now(),
  onFault: (error) => {
    throw error
  },
})
line.answer('reversed', (question) => (question as Uint8Array).toReversed())
line.answer('never', () => new Promise(() => undefined))
