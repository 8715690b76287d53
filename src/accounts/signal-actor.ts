import type { Actor } from '../core/caller.ts'

/** Who does what a signal to the process asks for. */
export const signalActor: Actor = { id: 'signal', address: null }
