import type { ChildProcess } from 'node:child_process'

/** What `node:cluster` and its workers send each other, as far as connections go. */
type ClusterMessage = { cmd?: string; act?: string; seq?: number; ack?: number }
type Handle = { close?: () => void }
type Send = (message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => boolean

/**
 * Follows which connections are handed to a worker and not taken yet. `node:cluster` forgets that of
 * a worker which dies meanwhile, and its client would wait for ever. The returned function, to be
 * called when the worker has ended, has it handed to another worker as if this one had refused it;
 * or closes it where there is none.
 */
export function followConnections(child: ChildProcess): (isAnotherThere: boolean) => void {
  const handed = new Map<number, Handle>()
  // Its overloads say less than it takes.
  const send = child.send.bind(child) as unknown as Send
  const followed: Send = (message, handle, ...rest) => {
    const { act, seq } = message
    if (act === 'newconn' && seq !== undefined && handle) handed.set(seq, handle)
    return send(message, handle, ...rest)
  }
  child.send = followed as unknown as ChildProcess['send']
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
    if (ack !== undefined) handed.delete(ack)
  })
  return (isAnotherThere) => {
    for (const [seq, handle] of handed) {
      const refusal = { cmd: 'NODE_CLUSTER', ack: seq, accepted: false }
      if (isAnotherThere) child.emit('internalMessage', refusal)
      else handle.close?.()
    }
    handed.clear()
  }
}
