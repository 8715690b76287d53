import type { Complaint } from '../transport/complaint.ts'

/** Members where vendors put an error or its text; the first member that is present applies. */
const places = ['error', 'detail', 'message', 'errors', 'msg', 'error_message', 'title']
const depthMax = 6
const listedMax = 3

/** OpenAI's codes for error types of servers that validate bodies with Pydantic. */
const schemaCodes: Readonly<Record<string, string>> = {
  extra_forbidden: 'unknown_parameter',
  missing: 'missing_required_parameter',
}

/** The error in a body of any shape (docs/vendors.md#forms-of-errors). */
export function complaintOf(body: unknown): Complaint {
  return find(body, 0)
}

function find(value: unknown, depth: number): Complaint {
  if (depth > depthMax) return {}
  if (typeof value === 'string') return fromText(value, depth)
  if (Array.isArray(value)) return fromList(value, depth)
  if (typeof value !== 'object' || value === null) return {}
  // Any object can be read as a record of unknown values.
  const record = value as Record<string, unknown>
  const place = places.find((name) => isPresent(record[name]))
  const inner = place === undefined ? {} : find(record[place], depth + 1)
  const { loc, metadata } = record
  const outer: Complaint = {
    ...text('code', record['code']),
    ...text('type', record['type']),
    ...text('param', Array.isArray(loc) ? pathOf(loc) : record['param']),
  }
  const found = { ...outer, ...inner }
  if (Array.isArray(loc)) return fromSchema(found)
  return withOrigin(found, metadata, depth)
}

/** Reads an error text, which may be JSON if a proxy quotes its upstream. */
function fromText(value: string, depth: number): Complaint {
  if (/^\s*[{[]/.test(value)) {
    try {
      const inner = find(JSON.parse(value), depth + 1)
      if (inner.message !== undefined) return inner
    } catch {
      // Not JSON: plain text may begin with a bracket.
    }
  }
  return value.trim() === '' ? {} : { message: value }
}

function fromList(values: readonly unknown[], depth: number): Complaint {
  const found = values.slice(0, listedMax).map((value) => find(value, depth + 1))
  const messages = new Set(found.flatMap(({ message }) => message ?? []))
  return messages.size === 0 ? {} : { ...found[0], message: [...messages].join('; ') }
}

function fromSchema(complaint: Complaint): Complaint {
  const { message = '', param = '', type = '' } = complaint
  const code = Object.hasOwn(schemaCodes, type) ? schemaCodes[type] : undefined
  return {
    ...complaint,
    ...(param === '' ? {} : { message: `${param}: ${message}` }),
    ...(code === undefined ? {} : { code }),
  }
}

/** Appends the message of the vendor that an aggregator called to the aggregator's message. */
function withOrigin(complaint: Complaint, metadata: unknown, depth: number): Complaint {
  if (typeof metadata !== 'object' || metadata === null || !('raw' in metadata)) return complaint
  const { message, code } = find(metadata.raw, depth + 1)
  if (message === undefined || message === complaint.message) return complaint
  const both = complaint.message === undefined ? message : `${complaint.message}: ${message}`
  return {
    ...complaint,
    message: both,
    ...(code === undefined || /^\d+$/.test(code) ? {} : { code }),
  }
}

/** A path as FastAPI writes it: `["body", "messages", 0, "content"]`. */
function pathOf(loc: readonly unknown[]): string {
  return loc
    .filter((step, index) => index > 0 || step !== 'body')
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : `${index > 0 ? '.' : ''}${String(step)}`,
    )
    .join('')
}

function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null && value !== '' && typeof value !== 'boolean'
}

function text<Key extends 'code' | 'type' | 'param'>(
  key: Key,
  value: unknown,
): Partial<Record<Key, string>> {
  if (typeof value !== 'string' && typeof value !== 'number') return {}
  // TypeScript types an object with a computed key as a record of any strings.
  return { [key]: String(value) } as Record<Key, string>
}
