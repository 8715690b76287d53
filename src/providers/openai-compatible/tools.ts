import type { components } from '../../../generated/types.ts'
import type { Draft } from './draft.ts'
import { withoutMark } from './history.ts'

type Tool = components['schemas']['Tool']

/** Writes the tools and the choice among them as the vendor takes them. */
export function adjustTools(draft: Draft): void {
  const { request, dialect, body } = draft
  const { tools } = request
  if (tools === undefined) return
  const given = dialect.takesCacheControl ? tools : tools.map(withoutMark)
  body['tools'] = dialect.wantsParameters ? given.map(withParameters) : given
  if (dialect.requiredToolChoice) adjustToolChoice(dialect.requiredToolChoice, draft)
}

/** A function without parameters takes none, which some vendors want to be told. */
function withParameters(tool: Tool): Tool {
  if (tool.type !== 'function') return tool
  const { strict, ...rest } = tool.function
  const parameters = { type: 'object', properties: {} }
  const written = { parameters, ...rest, ...(typeof strict === 'boolean' ? { strict } : {}) }
  return { ...tool, function: written }
}

function adjustToolChoice(required: 'auto' | 'any', { target, body, warnings }: Draft): void {
  const choice = body['tool_choice']
  if (required === 'any') {
    if (choice === 'required') body['tool_choice'] = 'any'
    return
  }
  if (choice === 'none') {
    const reason = `${target.provider.id} cannot be kept from calling tools: they are not sent.`
    warnings.push({ param: 'tool_choice', requested: choice, applied: null, reason })
    delete body['tools']
    delete body['tool_choice']
    return
  }
  const isNamed = typeof choice === 'object' && choice !== null
  if (choice !== 'required' && !isNamed) return
  const reason = `${target.provider.id} lets the model choose whether it calls a tool.`
  warnings.push({ param: 'tool_choice', requested: choice, applied: 'auto', reason })
  body['tool_choice'] = 'auto'
}
