import { randomUUID } from 'node:crypto'
import type { MemoryHold } from '../../bytes/memory-budget.ts'
import { joinPieces, piecesLength } from '../../bytes/pieces.ts'
import type { CallContext } from '../../core/caller.ts'
import { GatewayError } from '../../core/error.ts'
import { isOutcomeUnknown } from '../../core/failure.ts'
import type { Gateway } from '../../core/gateway.ts'
import type {
  ExtractedTexts,
  ImageResult,
  PartialPicture,
  Picture,
} from '../../core/image/image.ts'
import { mediaType } from '../../core/image/picture.ts'
import { pixelsText } from '../../core/image/size.ts'
import type { ImageInputs } from '../../core/image/work.ts'
import { jsonObject } from '../../core/any-json.ts'
import { addUsage, noUsage } from '../../core/money/price.ts'
import type { Receipt } from '../../core/receipt.ts'
import { nameOnce, type CheckedTool, type Wish } from './image-tool.ts'
import type { Place } from './item.ts'
import type { HostedCall, MakeItem } from './output.ts'

/** The base64 as a string, in the JSON of an event, and as the bytes of this JSON. */
const copies = 3

type Options = {
  tool: CheckedTool
  gateway: Pick<Gateway, 'image'>
  context: CallContext
  /** The context of the next call. Throws a GatewayError if the request has ended. */
  contextOf: (name: string) => CallContext
  texts: ExtractedTexts
  /** The most images. */
  callsMax: number
  /** The caller's name for a parameter. */
  nameOf: (param: string) => string
  /** Sends the events so far. */
  flush: () => void
}

export function imageMaker(options: Options) {
  const { tool, gateway, contextOf, texts, callsMax, nameOf, flush } = options
  const receipts: Receipt[] = []
  let calls = 0
  let usage = noUsage
  let latest: Picture | undefined

  const make = async (wish: Wish, context: CallContext, showPartial: ShowPartial) => {
    const partial = (one: PartialPicture) => {
      const bytes = copies * piecesLength(one.picture.base64)
      // A partial image is left out while memory is short.
      if (context.memory.takeMore(bytes) !== undefined) return
      showPartial(one)
      flush()
      context.memory.give(bytes)
    }
    const watch = { partialImages: tool.partialImages, partial }
    const sources = { ...sourcesOf(wish, latest, { tool, texts }), nameOf: tool.nameOf, copies }
    const made = await gateway.image({ ...tool.requestFor(wish), ...sources, watch }, context)
    receipts.push(made.receipt)
    usage = addUsage(usage, made.usage ?? noUsage)
    const { pictures, ...about } = { ...made.result, prompt: wish.prompt }
    const forms = pictures.map((one) => formOf(one, about, context.memory))
    latest = pictures.at(-1)
    return forms
  }
  const draw = async (wish: Wish, place: Place) => {
    const { item, showPartial, complete } = beginItem(wish, place)
    flush()
    try {
      const [form, ...more] = await make(wish, contextOf(`i${calls}`), showPartial)
      const others = more.length === 0 ? '' : ` ${more.length} more were shown with it.`
      const text = `${shownText} Its size is ${form!.size}.${others}`
      return { text, item: complete(form!), more }
    } catch (thrown) {
      if (!(thrown instanceof GatewayError) || endsResponse(thrown, options.context)) throw thrown
      const { text, ...failed } = failedForm(thrown, (name) => nameOf(nameOnce(tool.nameOf)(name)))
      return { text, item: { ...item, ...failed }, more: [] }
    }
  }
  return {
    /** Makes the image of a call. Returns the result for the model. Throws a GatewayError that ends the response. */
    run: async (call: HostedCall, add: (make: MakeItem) => Promise<void>) => {
      const words = readArguments(call)
      // Vendors refuse arguments that are not a JSON object.
      if (words === undefined) call.function.arguments = '{}'
      if (calls >= callsMax) return `No image was made: ${callsMax} is the most for one response.`
      calls += 1
      if (words === undefined) {
        return 'No image was made: the arguments must be a JSON object with the text `prompt`.'
      }
      const hasImages = latest !== undefined || tool.shown.length > 0
      const wish = { prompt: words.prompt, isEdit: hasImages && (tool.isEdit ?? words.isEdit) }
      const drawn: Awaited<ReturnType<typeof draw>>[] = []
      await add(async (place) => {
        drawn.push(await draw(wish, place))
        return drawn[0]!.item
      })
      const { text, more } = drawn[0]!
      for (const form of more) await add(async (place) => beginItem(wish, place).complete(form))
      return text
    },
    /** How many calls may follow. */
    left: () => callsMax - calls,
    hasMade: () => latest !== undefined,
    usage: () => usage,
    receipts,
  }
}

const shownText = 'The image was made and shown to the user.'

type ShowPartial = (partial: PartialPicture) => void

/** Emits the first events of the item of an image; `complete` emits the last and returns the item. */
function beginItem({ isEdit }: Wish, { index, suffix, emit }: Place) {
  const action = isEdit ? 'edit' : 'generate'
  const item = { id: `ig_${suffix}`, type: 'image_generation_call' as const, action }
  const at = { item_id: item.id, output_index: index }
  const begun = { ...item, status: 'in_progress', result: null }
  emit('response.output_item.added', { output_index: index, item: begun })
  emit('response.image_generation_call.in_progress', at)
  emit('response.image_generation_call.generating', at)
  const showPartial: ShowPartial = ({ picture, partialIndex, quality, background }) =>
    emit('response.image_generation_call.partial_image', {
      ...at,
      partial_image_index: partialIndex,
      partial_image_b64: joinPieces(picture.base64).toString('latin1'),
      size: pixelsText(picture),
      quality,
      background,
      output_format: picture.format,
    })
  const complete = (form: ReturnType<typeof formOf>) => {
    emit('response.image_generation_call.completed', at)
    return { ...item, ...form }
  }
  return { item, showPartial, complete }
}

type About = Pick<ImageResult, 'quality' | 'background'> & Pick<Wish, 'prompt'>

/** The members of an item with an image. */
function formOf(picture: Picture, { quality, background, prompt }: About, memory: MemoryHold) {
  // The image is paid, so it is never refused; the memory of a large one is reserved (`copies`).
  memory.grow(copies * piecesLength(picture.base64))
  return {
    status: 'completed' as const,
    result: joinPieces(picture.base64).toString('latin1'),
    // Some vendors return an empty text.
    revised_prompt: picture.revisedPrompt || prompt,
    size: pixelsText(picture),
    quality: quality ?? null,
    background: background ?? null,
    output_format: picture.format,
  }
}

/** The images to edit: the latest of this response, or the last of the conversation. */
function sourcesOf(
  { isEdit }: Wish,
  latest: Picture | undefined,
  { tool, texts }: Pick<Options, 'tool' | 'texts'>,
): Pick<ImageInputs, 'addresses' | 'texts'> {
  if (!isEdit) return {}
  if (latest === undefined) return { addresses: tool.shown, texts }
  const ticket = randomUUID()
  const address = `data:${mediaType(latest.format)};base64,${ticket}`
  return {
    addresses: [{ address, param: tool.nameOf('action') }],
    texts: new Map([[ticket, latest.base64]]),
  }
}

/** Whether a failure ends the response, since it is no failure of this image alone. */
function endsResponse(error: GatewayError, context: CallContext): boolean {
  // The caller decides whether an image that may be paid already is made again.
  return isAbandoned(context) || (context.isRepeat && isOutcomeUnknown(error))
}

/** Whether no one waits for the answer; with an idempotency key it is kept for the next request. */
export function isAbandoned({ ending, vendorKey }: CallContext): boolean {
  return ending.hasLeft && vendorKey === undefined
}

/** The members of an item without an image, and what the model reads. */
function failedForm(thrown: GatewayError, nameOf: Options['nameOf']) {
  const { code, message, param, type } = thrown.named(nameOf)
  return {
    text: `The image could not be made: ${message}`,
    status: 'failed' as const,
    // The AI SDK cannot read a response with a null here.
    result: '',
    error: { code, message, param, type },
  }
}

function readArguments({ function: { arguments: text } }: HostedCall): Wish | undefined {
  const { prompt, action } = jsonObject(text) ?? {}
  if (typeof prompt !== 'string' || prompt.trim() === '') return undefined
  return { prompt, isEdit: action === 'edit' }
}
