import type { MessageId } from './json-rpc.ts'
import type { Client } from './sessions.ts'

/** A tool call, as clients that listen for their account are told of it. */
export type ToolCallState = { tool: string; requestId: string; state: string; elapsedMs: number }

/** Where other processes answer tool clients too: the messages of one client arrive at any of them. */
export type Elsewhere = {
  /** Cancels a call of the client that is in work at another process. */
  cancel(client: Client, id: MessageId): void
  /** Sets the level of a client at the other processes. */
  setLevel(client: Client, level: string): void
  /** Ends a session, and what is open of it, at the other processes. */
  endSession(client: Client): void
  /** Tells who listens at another process for the account; undefined where there is none. */
  tellState: ((accountId: string, state: ToolCallState) => void) | undefined
}
