import type { components } from '../../generated/types.ts'
import type { MemoryHold } from '../bytes/memory-budget.ts'
import type { Caller } from './caller.ts'

type Schemas = components['schemas']

export type StoredItem = Schemas['ResponseTypedItem'] & { id: string }

/** A response that can be retrieved, and continued without sending the conversation again. */
export type StoredResponse = {
  id: string
  createdAtMs: number
  /** All input items, including the items of previous responses. */
  input: readonly StoredItem[]
  /** The response as it was printed. */
  response: Schemas['ModelResponse']
  /** For a response in progress: the Unix time in milliseconds at which its process has ended it. */
  runsUntil?: number
}

type Owner = Pick<Caller, 'accountId' | 'keyId' | 'mode' | 'models'>

/**
 * The stored responses. A caller finds those of its own account and mode, and a key that is restricted to
 * certain models its own; others are the same as missing. All but `put` and `end` throw a GatewayError if the
 * store fails, or no memory is left for the content.
 */
export type StoredResponses = {
  /** Whether responses are stored. */
  isOn(): boolean
  /** Stores a response; resolves when it is durable. Never rejects. */
  put(
    caller: Owner,
    stored: StoredResponse,
    memory: MemoryHold,
  ): Promise<'stored' | 'too_large' | 'failed'>
  /**
   * Replaces a response in progress by its end. `ended` means that it was ended before, or deleted; of two
   * ends one is stored. Never rejects.
   */
  end(
    caller: Owner,
    stored: StoredResponse,
    memory: MemoryHold,
  ): Promise<'stored' | 'too_large' | 'failed' | 'ended'>
  /** A response in progress that its process has not ended in time has failed. */
  get(caller: Owner, id: string, memory: MemoryHold): Promise<StoredResponse | undefined>
  /** Deletes a response; false if it does not exist. */
  remove(caller: Owner, id: string): Promise<boolean>
  items(
    caller: Owner,
    ids: readonly string[],
    memory: MemoryHold,
  ): Promise<ReadonlyMap<string, StoredItem>>
}
