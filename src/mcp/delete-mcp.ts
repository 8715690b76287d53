import type { Operation } from '../http/operation.ts'

/** DELETE /mcp: there is no session to end. */
export function deleteMcp(): Operation<'deleteMcp'> {
  return async () => ({ status: 204 })
}
