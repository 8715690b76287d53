import type { CallContext } from '../../core/caller.ts'
import type { ChatRequest } from '../../core/chat/chat.ts'
import { GatewayError, withName } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import { conversationImages } from '../../core/image/chat-to-image.ts'
import type { ImageRequest, NamedAddress } from '../../core/image/image.ts'
import { dropped, type CallInputs, type FoundModels, type Warning } from '../../core/model.ts'
import { imageRequest } from '../create-image.ts'
import { unsent } from '../native-only.ts'
import { defaultImageModel, type ImageTool } from './tools.ts'

/** What the model decides about an image. */
export type Wish = { prompt: string; isEdit: boolean }

/** The tool `image_generation` of a request, checked. */
export type CheckedTool = Awaited<ReturnType<typeof checkImageTool>>

type Options = {
  tool: ImageTool
  /** The conversation, whose large images may be placeholders. */
  request: ChatRequest
  context: CallContext
  gateway: Pick<Gateway, 'find' | 'quoteImage'>
}

/**
 * Checks the tool as the images API would check a request, before the language model is paid. Throws a
 * GatewayError.
 */
export async function checkImageTool(options: Options) {
  const { tool, request, context, gateway } = options
  const param = unsent + tool.param
  const { action = 'auto', input_fidelity: fidelity = null } = tool.settings
  const shown = lastImages(request)
  const isEdit = action === 'edit'
  if (isEdit && shown.length === 0) {
    const text = 'The conversation has no image to edit. Add one, or choose another action.'
    throw new GatewayError('invalid_value', text, { param: `${param}.action` })
  }
  const streams = request.stream === true
  const { settings, partialImages, warnings: ignored } = readSettings(tool.settings, param, streams)
  const nameOf = (name: string) =>
    name === 'model' || name in tool.settings ? `${param}.${name}` : param
  const models: FoundModels = [gateway.find(settings.model, context.caller)]
  const requestFor = (wish: Wish): CallInputs<ImageRequest> => {
    const { user = null } = request
    const edit = wish.isEdit ? { input_fidelity: fidelity } : {}
    const body = { ...settings, ...edit, prompt: wish.prompt, n: 1, user }
    return { request: imageRequest(body), models }
  }
  const watch = { partialImages }
  const sources = { nameOf, param: 'action', watch, ...(isEdit ? { addresses: shown } : {}) }
  const inputs = { ...requestFor({ prompt: anyPrompt, isEdit }), ...sources }
  const quoting = gateway.quoteImage(inputs, context)
  const { warnings } = await quoting.catch((error: unknown) => {
    throw withName(error, nameOnce(nameOf))
  })
  return {
    /** The parameter of the tool. */
    param,
    /** The images of the conversation that an edit changes. */
    shown,
    /** Adjustments that every image has. */
    warnings: [...ignored, ...warnings],
    /** The parameter of a setting that has this name in the images API. */
    nameOf,
    /** How many partial images of each image are sent. */
    partialImages,
    requestFor,
    /** Whether each call is an edit; undefined if the model decides. */
    isEdit: action === 'auto' ? undefined : isEdit,
  }
}

/** The check does not depend on the prompt, which the model will write. */
const anyPrompt = '-'

/** Names a parameter of the images API, unless it has the caller's name or is in the conversation. */
export function nameOnce(nameOf: CheckedTool['nameOf']): (name: string) => string {
  return (name) => (/^(?:unsent:|messages\[)/.test(name) ? name : nameOf(name))
}

/** The images of the last message that has some. */
function lastImages({ messages }: ChatRequest): NamedAddress[] {
  const index = messages.findLastIndex((message) => imagesOf(message).length > 0)
  const last = messages[index]
  if (last === undefined) return []
  return imagesOf(last).map(({ address, param }) => ({
    address,
    param: param.replace('messages[0]', `messages[${index}]`),
  }))
}

function imagesOf(message: ChatRequest['messages'][number]): NamedAddress[] {
  return conversationImages({ messages: [message] })
}

/** The settings of every image. Throws a GatewayError for a mask, which cannot be left out unnoticed. */
function readSettings(settings: ImageTool['settings'], param: string, streams: boolean) {
  const {
    type: _type,
    action: _action,
    input_fidelity: _fidelity,
    model = defaultImageModel,
    partial_images: partials = 0,
    size = null,
    quality = null,
    background = null,
    output_format = null,
    output_compression = null,
    complexity = null,
    moderation,
    ...others
  } = settings
  const warnings: Warning[] = []
  for (const [name, value] of Object.entries<unknown>(others)) {
    if (name === 'input_image_mask' && value != null) {
      const remedy = 'Leave it out, and describe the change, or use image_config.mask of'
      const text = `This tool takes no mask. ${remedy} /v1/chat/completions.`
      throw new GatewayError('unsupported_parameter', text, { param: `${param}.${name}` })
    }
    if (value == null) continue
    warnings.push(dropped(`${param}.${name}`, value, 'The gateway does not know this field.'))
  }
  if (partials > 0 && !streams) {
    const reason = "Partial images are sent in a stream only. Add 'stream': true."
    warnings.push(dropped(`${param}.partial_images`, partials, reason))
  }
  const images = { size, quality, background, output_format, output_compression, complexity }
  return {
    settings: { model, ...images, ...(moderation === undefined ? {} : { moderation }) },
    partialImages: streams ? partials : 0,
    warnings,
  }
}
