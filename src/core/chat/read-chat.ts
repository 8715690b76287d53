import type { MemoryHold } from '../../bytes/memory-budget.ts'
import { joinPieces, piecesLength } from '../../bytes/pieces.ts'
import type { Caller } from '../caller.ts'
import { assertTaken, GatewayError, withName } from '../error.ts'
import {
  chatToImage,
  conversationInputs,
  ignoredFields,
  ignoredMessages,
  type ImageConfig,
} from '../image/chat-to-image.ts'
import type { CheckPicture, ExtractedTexts } from '../image/image.ts'
import type { ImageInputs } from '../image/work.ts'
import {
  checkFallbacks,
  makesImages,
  modelsOf,
  type FindModel,
  type FoundModel,
  type FoundModels,
  type VendorFacts,
  type Warning,
} from '../model.ts'
import { refusalOf } from '../route.ts'
import type { ChatInputs, ChatRequest, NativeRequest, OnlyNative } from './chat.ts'
import { checkConversation, checkedPictures } from './check.ts'
import { withoutEmpty } from './default-values.ts'

// The beginning of a call with a conversation, for its answer, its price and the count of its tokens, in each API
// and the tool: models, translation, empty members, pictures, base64.

/** A request of an API, in which tickets may replace large base64 texts. */
type Call = { caller: Caller; texts: ExtractedTexts; memory: MemoryHold }
/** What the reading needs of the gateway. */
export type ReadParts = { find: FindModel; checkPicture: CheckPicture }

/** A request of the chat API. */
export type ReadChat = Pick<Call, 'texts' | 'memory'> & {
  models: FoundModels
  /** The request in which tickets may replace large base64 texts. */
  draft: ChatRequest
  /** The adjustments so far; undefined if there are none. */
  warnings: Warning[] | undefined
  /** The vendor of the image model that answers; undefined for a language model. */
  pictureVendor: VendorFacts | undefined
}

/** Reads a request for a language model or an image model. Throws a GatewayError. */
export function readChat(
  request: ChatRequest,
  { caller, texts, memory }: Call,
  { find, checkPicture }: ReadParts,
): ReadChat {
  const models = modelsOf(request, caller, find)
  const pictureVendor = pictureVendorOf(models[0], request)
  checkFallbacks(models, pictureVendor !== undefined)
  const { draft, warnings } = corrected(request, texts, checkPicture)
  if (pictureVendor !== undefined) checkConversation(draft)
  return { models, draft, warnings, pictureVendor, texts, memory }
}

/**
 * The vendor for a request that needs its images API. For a model without a description `image_config` decides,
 * unless the vendor makes pictures in chats, or has no chats.
 */
function pictureVendorOf(
  { model, vendor }: FoundModel,
  { image_config: config }: ChatRequest,
): VendorFacts | undefined {
  if (model === undefined || makesImages(model)) return vendor
  if (!model.undescribed) return undefined
  const isAsked = config !== undefined && !vendor.takesImageConfig
  return isAsked || vendor.onlyPictures ? vendor : undefined
}

/** The inputs of `gateway.chat`. */
export function chatInputs({ draft, models, texts, memory }: ReadChat): ChatInputs {
  return { request: restoreBase64(draft, texts, memory), models }
}

/** The inputs of `gateway.image`, with the checked options of the vendor. Throws a GatewayError. */
export function pictureInputs(
  { draft, models, texts, memory }: ReadChat,
  config: ImageConfig = {},
): ImageInputs & Required<Pick<ImageInputs, 'nameOf'>> {
  // Warnings quote the request with its texts; no warning quotes the members that are left out.
  const shown = restoreBase64({ ...draft, messages: [], image_config: {} }, texts, memory)
  const warnings = [...ignoredFields(shown, config), ...ignoredMessages(draft)]
  const request = chatToImage(draft, config)
  const mask = config.mask && { address: config.mask, param: 'image_config.mask' }
  const inputs = { ...conversationInputs(draft), mask: mask || undefined }
  return { request, models, ...inputs, texts, warnings, nameOf: nameIn(config) }
}

/** Maps parameters of the images API to those of a chat request with this `image_config`. */
function nameIn(config: ImageConfig): (param: string) => string {
  return (param) => {
    if (param === 'prompt') return 'messages'
    const name = param === 'size' ? 'image_size' : param
    const [member = name] = name.split('.')
    return member in config ? `image_config.${name}` : param
  }
}

/** A request of another API in the form of the chat API. */
export type TranslatedChat = {
  request: ChatRequest
  warnings: Warning[]
  /** What only a translated request loses. */
  lost: Warning[]
  /** Absent for a request that can be translated. */
  only: OnlyNative | undefined
  /** The caller's name for a parameter of the canonical request. */
  nameOf: (param: string) => string
}

/** The models of a request that an image model cannot answer: `refusal` says so of a model. Throws a GatewayError. */
export function languageModels(
  request: Parameters<typeof modelsOf>[0],
  { caller, find }: Pick<Call, 'caller'> & Pick<ReadParts, 'find'>,
  refusal: (id: string) => string,
): FoundModels {
  const models = modelsOf(request, caller, find)
  const [{ model }] = models
  if (model !== undefined && makesImages(model)) {
    throw new GatewayError('model_capability_mismatch', refusal(model.row.id), { param: 'model' })
  }
  checkFallbacks(models, false)
  return models
}

type Native = Pick<NativeRequest, 'api' | 'headers' | 'seal'> & {
  /** The members for a vendor of this API; undefined if the request needs the gateway between them. */
  bodyOf: (draft: ChatRequest) => NativeRequest['body'] | undefined
}
/** A translated request for the core. */
export type ReadTranslated = ChatInputs & {
  draft: ChatRequest
  warnings: Warning[] | undefined
  nameOf: TranslatedChat['nameOf']
}

/** Reads a translated request; a vendor that has its API gets it verbatim. Throws a GatewayError. */
export function readTranslated(
  { request, warnings, lost, only, nameOf }: TranslatedChat,
  { models, texts, memory }: Pick<Call, 'texts' | 'memory'> & { models: FoundModels },
  { api, headers, seal, bodyOf }: Native,
  { checkPicture }: Pick<ReadParts, 'checkPicture'>,
): ReadTranslated {
  try {
    const { draft, isCorrected, ...checked } = corrected(request, texts, checkPicture)
    const [{ model, vendor }] = models
    const isSent = vendor?.nativeApi === api && (!isCorrected || only !== undefined)
    const body = isSent ? bodyOf(draft) : undefined
    if (only !== undefined && model !== undefined && body === undefined) {
      throw refusalOf([only.problem])
    }
    const made = [...warnings, ...(body === undefined ? lost : []), ...(checked.warnings ?? [])]
    // Together, since each text becomes one string.
    const all = { request: draft, warnings: made.length === 0 ? undefined : made, body }
    const { body: sent, ...whole } = restoreBase64(all, texts, memory)
    const native = sent && { api, body: sent, headers, seal, lost, only }
    return { ...whole, models, native, draft, nameOf }
  } catch (thrown) {
    throw withName(thrown, nameOf)
  }
}

/** The request without empty members, and with the media types of its pictures. Throws a GatewayError. */
function corrected(request: ChatRequest, texts: ExtractedTexts, check: CheckPicture) {
  const plain = withoutEmpty(request)
  const checked = checkedPictures(plain, texts, check)
  const isCorrected = checked !== undefined
  return { draft: checked?.request ?? plain, warnings: checked?.warnings, isCorrected }
}

/**
 * Puts each extracted base64 text back in place of its ticket in the data URL. Throws a
 * GatewayError if there is not enough memory for the texts as strings.
 */
export function restoreBase64<T>(value: T, texts: ExtractedTexts, memory: MemoryHold): T {
  if (texts.size === 0) return value
  const restored = new Map<string, string>()
  const textOf = (url: string): string => {
    const start = url.indexOf(',') + 1
    const text = texts.get(url.slice(start))
    if (text === undefined) return url
    const known = restored.get(url)
    if (known !== undefined) return known
    assertTaken(memory.takeMore(3 * piecesLength(text)))
    const whole = url.slice(0, start) + joinPieces(text).toString('latin1')
    restored.set(url, whole)
    return whole
  }
  const put = (inner: unknown): unknown => {
    if (typeof inner === 'string') return textOf(inner)
    if (Array.isArray(inner)) return inner.map(put)
    if (typeof inner !== 'object' || inner === null) return inner
    return Object.fromEntries(Object.entries(inner).map(([name, one]) => [name, put(one)]))
  }
  // Only strings change, and each stays a string.
  return put(value) as T
}
