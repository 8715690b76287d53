import { toolChecks } from '../../../generated/checks.js'
import { tools, type ToolName } from '../../../generated/tools.ts'
import type { Gateway } from '../../core/gateway.ts'
import type { Catalog } from '../../core/model.ts'
import type { RouteTable } from '../../core/route.ts'
import type { BoundTool, ToolHandler, ToolsInForce } from '../tool.ts'
import type { UploadFolder } from '../upload-folder.ts'
import { chat } from './chat.ts'
import { generateImagePreview } from './generate-image-preview.ts'
import { generateImage } from './generate-image.ts'
import { listImageModels } from './list-image-models.ts'
import { listModels } from './list-models.ts'

type Options = {
  gateway: Gateway
  catalog: Catalog
  routes: RouteTable
  uploads: UploadFolder | undefined
  defaultImageModel: string
  /** Tools beside those of mcp-tools.json. */
  moreTools: readonly BoundTool[]
  clock: () => number
}

/** All tools by name, and the list that tells of them. */
export function createTools(options: Options): Pick<ToolsInForce, 'tools' | 'list'> {
  const all = [...bindTools(options), ...options.moreTools]
  const list = JSON.stringify({ tools: all.map(({ description }) => description) })
  return { tools: new Map(all.map((tool) => [tool.description.name, tool])), list }
}

/** Binds each tool of mcp-tools.json to its handler; a missing handler does not compile. */
function bindTools(options: Options): BoundTool[] {
  const handlers: { [Name in ToolName]: ToolHandler<Name> } = {
    chat: chat(options),
    'generate-image': generateImage(options.gateway),
    'generate-image-preview': generateImagePreview(options),
    'list-models': listModels(options),
    'list-image-models': listImageModels(options),
  }
  return tools.map((description) => {
    const { name } = description
    const bound = {
      description: withDefault(description, options.defaultImageModel),
      check: toolChecks[name],
      isGeneration: !name.startsWith('list-'),
      // `check` and `handle` are of the same tool, which the type of `name` cannot express here.
      handle: handlers[name] as BoundTool['handle'],
    }
    if (name !== 'generate-image') return bound
    return { ...bound, defaults: { model: options.defaultImageModel } }
  })
}

/** The description of `generate-image` with the operator's default model in its schema. */
function withDefault(
  description: (typeof tools)[number],
  defaultImageModel: string,
): BoundTool['description'] {
  if (description.name !== 'generate-image') return description
  const { inputSchema } = description
  const { properties } = inputSchema
  const model = { ...properties.model, default: defaultImageModel }
  return { ...description, inputSchema: { ...inputSchema, properties: { ...properties, model } } }
}
