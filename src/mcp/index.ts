import { GatewayError } from '../core/error.ts'
import type { Operations } from '../http/contract-router.ts'
import { toolHandlers } from './tools/index.ts'

/** The operations of /mcp. */
export function mcpOperations(): Pick<Operations, 'postMcp' | 'getMcp' | 'deleteMcp'> {
  const notYet = async (): Promise<never> => {
    const names = Object.keys(toolHandlers).join(', ')
    throw new GatewayError(
      'not_implemented',
      `This version of the gateway does not serve its tools (${names}) yet. Use /v1.`,
    )
  }
  return { postMcp: notYet, getMcp: notYet, deleteMcp: notYet }
}
