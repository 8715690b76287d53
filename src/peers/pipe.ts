/** One end of a channel between two processes. */
export type Pipe = {
  /** `onSent` is called when the system has taken the message, or with the error. */
  send(message: object, onSent: (error: Error | null) => void): void
  onMessage(listener: (message: unknown) => void): void
  /** The other process has ended, or closed its end. */
  onEnd(listener: () => void): void
}

/** What `process` has in a forked process, and a worker of `node:cluster` in its primary. */
type Forked = {
  send?: ((message: object, onSent: (error: Error | null) => void) => boolean) | undefined
  isConnected?: () => boolean
  connected?: boolean
  on(event: 'message' | 'disconnect', listener: (message: unknown) => void): unknown
}

/** The channel between a forked process and the one that forked it. */
export function pipeOf(forked: Forked): Pipe {
  const isConnected = () => forked.isConnected?.() ?? forked.connected === true
  return {
    send: (message, onSent) => {
      if (isConnected()) forked.send!(message, onSent)
      else onSent(new Error('The channel is closed.'))
    },
    onMessage: (listener) => forked.on('message', listener),
    onEnd: (listener) => forked.on('disconnect', () => listener()),
  }
}
