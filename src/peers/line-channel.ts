import { createHearing, type Channel } from './channel.ts'
import type { PrimaryLine } from './primary-line.ts'
import type { WorkerLines } from './worker-lines.ts'

const topic = 'announcement'

/** The channel of workers of one primary, which passes on what they announce. */
export function createLineChannel(line: Pick<PrimaryLine, 'tell' | 'on'>): Channel {
  const { listen, hear } = createHearing()
  line.on(topic, hear)
  return {
    isAlone: false,
    listen,
    announce: (announcement) => line.tell(topic, announcement),
  }
}

/** Lets the primary pass what a worker announces to all others. */
export function relayAnnouncements(lines: Pick<WorkerLines, 'workers' | 'tell' | 'on'>): void {
  lines.on(topic, (announcement, sender) => {
    for (const worker of lines.workers()) {
      if (worker.id !== sender.id) lines.tell(topic, announcement, worker)
    }
  })
}
