import { readAnnouncement, type Announcement, type AnnouncementOf } from './announcement.ts'

/**
 * What the processes of a gateway tell each other. One that is lost costs time and nothing else: what it
 * told is looked for once in a while all the same.
 */
export type Channel = {
  /** Whether there is nobody to tell. */
  readonly isAlone: boolean
  /** Tells the other processes; this one does not hear it. */
  announce(announcement: Announcement): void
  /** Hears what others announce, by kind. */
  listen(listeners: Listeners): void
}

/** What is done by kind; other kinds are not heard. */
export type Listeners = {
  readonly [Kind in Announcement['kind']]?: (announcement: AnnouncementOf<Kind>) => void
}

/** The channel of a gateway of one process. */
export const aloneChannel: Channel = {
  isAlone: true,
  announce: () => undefined,
  listen: () => undefined,
}

/** Passes what comes in, which nobody has checked, to those who listen for it. */
export function createHearing(): {
  listen: Channel['listen']
  hear: (value: unknown) => void
} {
  const all: Listeners[] = []
  return {
    listen: (listeners) => {
      all.push(listeners)
    },
    hear: (value) => {
      const announcement = readAnnouncement(value)
      if (announcement === undefined) return
      // The compiler does not see that a listener is that of the kind.
      const { kind } = announcement as AnnouncementOf<'sessions_changed'>
      for (const listeners of all) listeners[kind]?.(announcement as never)
    },
  }
}
