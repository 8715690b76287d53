import type { Loaded } from '../config.ts'

/** The first message of the primary to a worker: what it needs before it can be asked anything. */
export type Start = {
  start: {
    id: number
    settings: Loaded
    /** Counts the settings that were in force. */
    version: number
    /** Whether it makes what the first start makes, and tells of it. */
    isFirst: boolean
    /** Whether all workers have listened once. */
    allListen: boolean
  }
}

/** Topics of the line between the primary and its workers, for their own affairs. */
export const topics = {
  /** A worker answers, with the version of its settings. */
  started: 'worker_started',
  /** All of them listen. */
  allListen: 'workers_listen',
  /** It will end, and takes no new work. */
  leaving: 'worker_leaving',
  /** It accepts no more connections. */
  portClosed: 'worker_port_closed',
  /** Finish what is under way and end; with `{ noticeMs }`. */
  drain: 'drain',
  /** One worker is to reload the settings as a signal asks for it. */
  reload: 'reload',
} as const
