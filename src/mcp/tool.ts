import type { Check } from '../../generated/checks.js'
import type { components } from '../../generated/tool-types.ts'
import type { ToolName } from '../../generated/tools.ts'
import type { CallContext } from '../core/caller.ts'
import type { ReferenceCount } from '../core/reference-count.ts'
import type { ToolContent } from './content.ts'
import type { Progress } from './progress.ts'

/** What a handler gets in addition to the arguments of a call. */
export type ToolCall = { context: CallContext; report: Progress['report'] }

/** A tool with its description, input check and handler. */
export type BoundTool = {
  /** Printed by `tools/list`. */
  description: {
    name: string
    title?: string
    description: string
    inputSchema: object
    annotations?: object
    icons?: readonly object[]
  }
  check: Check<object>
  /** Its calls are long and cost money, so the account's event streams announce them. */
  isGeneration: boolean
  handle: (input: object, call: ToolCall) => Promise<readonly ToolContent[]>
}

/** The tools that there are now; a reload replaces them, and calls end with those they began with. */
export type ToolsInForce = Pick<ReferenceCount, 'enter' | 'leave'> & {
  tools: ReadonlyMap<string, BoundTool>
  /** The result of `tools/list`, as JSON. */
  list: string
}

/** Handles one tool; the input has passed its schema. Throws a GatewayError. */
export type ToolHandler<Name extends ToolName> = (
  input: components['schemas'][Name],
  call: ToolCall,
) => Promise<readonly ToolContent[]>
