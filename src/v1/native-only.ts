import type { components } from '../../generated/types.ts'
import type { OnlyNative } from '../core/chat/chat.ts'
import { GatewayError } from '../core/error.ts'
import type { Warning } from '../core/model.ts'

/** Begins the parameters of what is not in the chat request. */
export const unsent = 'unsent:'

/** The names of an API for parameters of the canonical request. */
type ParameterNames = {
  /** The name of a message; `rest` is the rest of the parameter, such as `.content[0]`. */
  message(index: number, rest: string): string
  tool(index: number, rest: string): string
  /** The name of a member of the search, such as `.max_searches`; of the search itself for ''. */
  search(member: string): string
  /** The names of other parameters; the first pattern that matches is replaced. */
  fields: readonly (readonly [RegExp, string])[]
}

const searchParam = 'web_search_options'

/** The caller's name for a parameter of the canonical request. */
export function parameterName(param: string, names: ParameterNames): string {
  if (param.startsWith(unsent)) return param.slice(unsent.length)
  const [, list, index, rest = ''] = /^(messages|tools)\[(\d+)\](.*)$/s.exec(param) ?? []
  if (list === 'messages') return names.message(Number(index), rest)
  if (list === 'tools') return names.tool(Number(index), rest)
  if (param.startsWith(searchParam)) return names.search(param.slice(searchParam.length))
  const field = names.fields.find(([pattern]) => pattern.test(param))
  return field === undefined ? param : param.replace(...field)
}

/** Why a tool or an item cannot be translated, with a warning for an unknown type. */
export type Native = { only: OnlyNative; warning?: Warning }
type Faulty = { type: string; param: string; remedy: string }

/** Reads a type that only models with native requests take. */
export function nativeOnly({ type, param, remedy }: Faulty, isKnown: boolean): Native {
  const message = `'${param}': only models with native requests take '${type}'. ${remedy}`
  const only = { problem: { param: unsent + param, message } }
  if (isKnown) return { only }
  const reason = 'The gateway does not know this type; the vendor decides whether it takes it.'
  return { only, warning: { param: unsent + param, requested: type, applied: type, reason } }
}

/** The error of a tool that the vendor would run. */
export function vendorRuns({ type, param, remedy }: Faulty): GatewayError {
  const text = `'${param}': the gateway does not let the vendor run '${type}'. ${remedy}`
  return new GatewayError('unsupported_value', text, { param })
}

type FunctionTool = components['schemas']['FunctionTool']

/** A tool as a function; one without parameters is only counted. */
export function functionOf(name: string, text: string | undefined, json?: object): FunctionTool {
  const description = text === undefined ? {} : { description: text }
  const parameters = json && { parameters: { ...json } }
  return { type: 'function', function: { name, ...description, ...parameters } }
}
