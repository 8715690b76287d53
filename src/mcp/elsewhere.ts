import type { MessageId } from './json-rpc.ts'

/** A tool call, as clients that listen for their account are told of it. */
export type ToolCallState = { tool: string; requestId: string; state: string; elapsedMs: number }

/**
 * Where other processes answer tool clients too. There are no sessions: the messages of one client
 * arrive at any of them.
 */
export type Elsewhere = {
  /** Cancels a call of the key that is in work at another process. */
  cancel(keyId: string, id: MessageId): void
  /** Sets the level of a key at the other processes. */
  setLevel(keyId: string, level: string): void
  /** Tells who listens at another process for the account; undefined where there is none. */
  tellState: ((accountId: string, state: ToolCallState) => void) | undefined
}
