import type { components } from '../../generated/types.ts'

type Revision = components['schemas']['ProtocolRevision']

/** The tool server's own protocol version (the product document, Versioning). */
export const protocolVersion: Revision = '2024-11-05'

const known: readonly string[] = [
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
] satisfies Revision[]

/** The revision that a client asks for if known, else ours (docs/tool-protocol.md#revisions). */
export function negotiate(asked: unknown): string {
  return typeof asked === 'string' && known.includes(asked) ? asked : protocolVersion
}
