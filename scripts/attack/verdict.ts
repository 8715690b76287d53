import { answerComplaints, type Answer } from '../../test/support/answers.ts'
import { complaints, operations, type OperationRow } from '../../test/support/contract.ts'
import { ownKey } from '../../test/support/own-endpoint.ts'
import { projectFolder } from '../../test/support/folder.ts'

type Asked = {
  operation: OperationRow | undefined
  path: string
  secrets: readonly string[]
  /** Its vendor failed, which a 502 tells rightly. */
  isVendorBad?: boolean
}

/** Traces of the inside in an answer: frames of a stack, folders, SQL, and what Node calls itself. */
const inside = /\n\s+at |\(file:\/\/|node_modules|node:internal|SQLITE_|[\w-]+\.[tj]s:\d+/

/** Why an answer is not one that the contract promises to anyone, whatever was asked. */
export function answerFaults(
  answer: Answer,
  { operation, path, secrets, isVendorBad = false }: Asked,
): string[] {
  const { status, text, headers } = answer
  const found = [
    ...(status === 500 || (status === 502 && !isVendorBad) ? [`The status is ${status}.`] : []),
    ...(text.includes('"internal_error"') || text.includes('The gateway failed.')
      ? ['An internal error is told.']
      : []),
    ...[...secrets, ownKey, projectFolder]
      .filter((secret) => text.includes(secret))
      .map(() => 'A secret or a folder is in the answer.'),
    ...(status >= 400 && inside.test(text) ? ['The answer shows the inside.'] : []),
    ...(headers.has('x-request-id') || isPage(path, status) ? [] : ['There is no request id.']),
  ]
  if (found.length > 0) return found
  return operation === undefined
    ? errorFaults(answer)
    : answerComplaints(operation.operationId, answer)
}

function isPage(path: string, status: number): boolean {
  return status < 400 && !operations.some((operation) => path.startsWith(operation.path))
}

/** Why an answer of no operation is not as errors are on every path. */
export function errorFaults({ status, headers, text }: Answer): string[] {
  if (status < 400 || text === '') return []
  const [type] = (headers.get('content-type') ?? '').split(';')
  // A page for a person who signs in.
  if (type === 'text/html' && text.includes(' · Model-Access Gateway</title>')) return []
  if (type !== 'application/json') return ['An error is no JSON.']
  const body: unknown = JSON.parse(text)
  const reasons = errorSchemas.map(($ref) => complaints({ $ref }, body))
  return reasons.some((found) => found.length === 0) ? [] : reasons.flat()
}

const errorSchemas = [
  '#/components/schemas/ErrorResponse',
  '#/components/schemas/JsonRpcErrorResponse',
  '#/components/schemas/OAuthError',
]

type LogLine = { level: string; code?: string }

/** The lines of a log that no caller may cause: internal errors, and what is no line of the log. */
export function logFaults(log: string): string[] {
  return log.split('\n').filter((line) => line !== '' && isFault(line))
}

function isFault(line: string): boolean {
  try {
    const { level, code } = JSON.parse(line) as LogLine
    return code === 'internal_error' || level === 'fatal'
  } catch {
    return true
  }
}
