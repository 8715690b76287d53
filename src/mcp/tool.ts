import type { Check } from '../../generated/checks.js'
import type { components } from '../../generated/tool-types.ts'
import type { ToolName } from '../../generated/tools.ts'
import type { CallContext } from '../core/caller.ts'
import type { ToolContent } from './content.ts'
import type { Progress } from './progress.ts'

/** One call of a tool, beside its arguments. */
export type ToolCall = { context: CallContext; report: Progress['report'] }

/** A tool as the server offers it. */
export type BoundTool = {
  /** As `tools/list` prints it. */
  description: { name: string; description: string; inputSchema: object }
  check: Check<object>
  /** Values of absent arguments that the operator decides, before those of the schema. */
  defaults?: object
  /** Its work takes long and costs money, so that others of the account hear of it. */
  isGeneration: boolean
  handle: (input: object, call: ToolCall) => Promise<readonly ToolContent[]>
}

/** Handles one tool, with arguments that passed its schema. Throws a GatewayError. */
export type ToolHandler<Name extends ToolName> = (
  input: components['schemas'][Name],
  call: ToolCall,
) => Promise<readonly ToolContent[]>
