import { answerComplaints, type Answer } from '../../test/support/answers.ts'
import { complaints, operations, type OperationRow } from '../../test/support/contract.ts'
import { ownKey } from '../../test/support/own-endpoint.ts'
import { projectFolder } from '../../test/support/folder.ts'

type Asked = {
  operation: OperationRow | undefined
  path: string
  secrets: readonly string[]
  /** Whether the vendor fails on purpose, so that 502 is a correct status. */
  isVendorBad?: boolean
}

/** Internals that an answer must not show: stack frames, folders, SQL errors and names of source files. */
const internals = /\n\s+at |\(file:\/\/|node_modules|node:internal|SQLITE_|[\w-]+\.[tj]s:\d+/

/** Violations of the contract in an answer, one sentence each; empty when the answer complies. */
export function answerFaults(
  answer: Answer,
  { operation, path, secrets, isVendorBad = false }: Asked,
): string[] {
  const { status, text, headers } = answer
  const found = [
    ...(status === 500 || (status === 502 && !isVendorBad) ? [`The status is ${status}.`] : []),
    ...(text.includes('"internal_error"') || text.includes('The gateway failed.')
      ? ['The answer is an internal error.']
      : []),
    ...[...secrets, ownKey, projectFolder]
      .filter((secret) => text.includes(secret))
      .map(() => 'The answer contains a secret or a folder.'),
    ...(status >= 400 && internals.test(text)
      ? ['The answer shows internals, such as a stack.']
      : []),
    ...(headers.has('x-request-id') || isPage(path, status) ? [] : ['The request id is missing.']),
  ]
  if (found.length > 0) return found
  return operation === undefined
    ? errorFaults(answer)
    : answerComplaints(operation.operationId, answer)
}

function isPage(path: string, status: number): boolean {
  return status < 400 && !operations.some((operation) => path.startsWith(operation.path))
}

/** Violations of the error format that applies to every path; empty when the answer is not an error. */
export function errorFaults({ status, headers, text }: Answer): string[] {
  if (status < 400 || text === '') return []
  const [type] = (headers.get('content-type') ?? '').split(';')
  // The sign-in pages answer errors with an HTML page.
  if (type === 'text/html' && text.includes(' · Model-Access Gateway</title>')) return []
  if (type !== 'application/json') return ['An error is not JSON.']
  const body: unknown = JSON.parse(text)
  const reasons = errorSchemas.map(($ref) => complaints({ $ref }, body))
  return reasons.some((found) => found.length === 0) ? [] : reasons.flat()
}

const errorSchemas = [
  '#/components/schemas/ErrorResponse',
  '#/components/schemas/MessageErrorResponse',
  '#/components/schemas/JsonRpcErrorResponse',
  '#/components/schemas/OAuthError',
]

type LogLine = { level: string; code?: string }

/** Log lines that no request may cause: internal errors, and lines that are not JSON. */
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
