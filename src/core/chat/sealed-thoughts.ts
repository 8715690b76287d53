import { createHmac } from 'node:crypto'
import type { components } from '../../../generated/types.ts'
import { timingSafeEqualText } from '../../bytes/timing-safe-equal.ts'

type ExtraContent = components['schemas']['ToolCallExtraContent']

/**
 * Writes a vendor's data of a tool call, such as its reasoning, as text that the caller sends back. The text is
 * signed for one account, so that a vendor never gets data that the gateway did not write.
 */
export type ThoughtSeal = {
  close(extra: ExtraContent): string
  /** Undefined for text of another account, of another gateway or of a vendor. */
  open(text: string): ExtraContent | undefined
}

/** What replaces a conversation: a message of the user, or content that only the provider can read. */
export type Compaction = { providerId: string | null; id: string; content: string }

/** The compaction in data that was sealed; undefined for other data. */
export function compactionIn(extra: ExtraContent | undefined): Compaction | undefined {
  const found = extra?.['compaction'] as Partial<Compaction> | undefined
  // An endpoint of the operator can give a tool call any data, which is sealed too.
  if (typeof found?.content !== 'string' || typeof found.id !== 'string') return undefined
  return { providerId: found.providerId ?? null, id: found.id, content: found.content }
}

/** Bytes of the key that signs. */
export const thoughtKeyBytes = 32

const form = 'gw1'
/** Longer reasoning than any model writes for one call. */
const textLengthMax = 4 * 1024 * 1024

/** The seals of accounts by their ids. */
export function createThoughtSeals(key: Buffer): (accountId: string) => ThoughtSeal {
  return (accountId) => {
    const proofOf = (text: string) =>
      createHmac('sha256', key).update(`${accountId} ${text}`).digest('base64url')
    return {
      close: (extra) => {
        const text = Buffer.from(JSON.stringify(extra)).toString('base64url')
        return `${form}.${text}.${proofOf(text)}`
      },
      open: (sealed) => {
        if (sealed.length > textLengthMax) return undefined
        const [begin, text = '', proof = '', ...rest] = sealed.split('.', 4)
        if (begin !== form || rest.length > 0) return undefined
        if (!timingSafeEqualText(proof, proofOf(text))) return undefined
        // The signature is valid, so `close` wrote the text.
        return JSON.parse(Buffer.from(text, 'base64url').toString()) as ExtraContent
      },
    }
  }
}
