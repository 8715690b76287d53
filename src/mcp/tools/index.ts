import type { components } from '../../../generated/tool-types.ts'
import type { ToolName } from '../../../generated/tools.ts'
import { GatewayError } from '../../core/error.ts'

/** What a tool answers: blocks of text and pictures. */
export type ToolContent =
  { type: 'text'; text: string } | { type: 'image'; data: string; mimeType: string }
/** Handles one tool, with arguments that passed its schema. */
export type ToolHandler<Name extends ToolName> = (
  input: components['schemas'][Name],
) => Promise<ToolContent[]>

const notYet = async (): Promise<never> => {
  throw new GatewayError('not_implemented', 'This version of the gateway does not serve tools yet.')
}

/** Every tool of mcp-tools.json: one that is missing does not compile. */
export const toolHandlers: { [Name in ToolName]: ToolHandler<Name> } = {
  chat: notYet,
  'generate-image': notYet,
  'generate-image-preview': notYet,
  'list-models': notYet,
  'list-image-models': notYet,
}
