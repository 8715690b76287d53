import type { Answered } from '../../core/call.ts'
import type { ChatRequest, ChatResult } from '../../core/chat/chat.ts'
import { checkConversation, checkedPictures } from '../../core/chat/check.ts'
import { GatewayError } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import {
  chatToImage,
  conversationInputs,
  ignoredFields,
  ignoredMessages,
} from '../../core/image/chat-to-image.ts'
import { noTexts, type CheckPicture } from '../../core/image/image.ts'
import { makesImages, type Model } from '../../core/model.ts'
import { noUsage } from '../../core/money/price.ts'
import type { RouteTable } from '../../core/route.ts'
import type { ToolContent, ToolHandler } from '../tool.ts'
import { conversationOf, type OpenPicture } from './input-pictures.ts'
import type { ReceiptText, ShowPictures } from './results.ts'

type Options = {
  gateway: Gateway
  routes: Pick<RouteTable, 'peek'>
  checkPicture: CheckPicture
  show: ShowPictures
  open: OpenPicture
  receiptText: ReceiptText
}

/** The tool `chat`: returns text of a language model, or pictures of an image model. */
export function chat(options: Options): ToolHandler<'chat'> {
  const { routes } = options
  return async (input, { context }) => {
    const { model: name, temperature, max_tokens: maxTokens } = input
    const { messages, nameOf } = await conversationOf(input.messages, context, options.open)
    const request: ChatRequest = {
      model: name,
      messages,
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    }
    const model = routes.peek(name, context.caller)
    try {
      return await answer(request, model, context, options)
    } catch (error) {
      throw error instanceof GatewayError ? error.named(nameOf) : error
    }
  }
}

async function answer(
  asked: ChatRequest,
  model: Model | undefined,
  given: Parameters<Gateway['chat']>[1],
  { gateway, checkPicture, show, receiptText }: Options,
): Promise<readonly ToolContent[]> {
  const corrected = checkedPictures(asked, noTexts, checkPicture)
  const request = corrected?.request ?? asked
  const context = corrected ? { ...given, warnings: corrected.warnings } : given
  if (model === undefined || !makesImages(model)) {
    return textOf(await gateway.chat(request, context), receiptText)
  }
  checkConversation(request)
  const warnings = [...ignoredFields(request, {}), ...ignoredMessages(request)]
  const nameOf = (param: string) => (param === 'prompt' ? 'messages' : param)
  const inputs = { ...conversationInputs(request), nameOf, warnings }
  return show(await gateway.image(chatToImage(request, {}), context, inputs), context)
}

/** The answer, followed by a line with model, tokens and cost. */
function textOf(
  { result, usage = noUsage, receipt }: Answered<ChatResult>,
  { cost, notes }: ReceiptText,
): ToolContent[] {
  const [choice] = result.completion.choices
  const { content, refusal } = choice?.message ?? {}
  const { inputTokens, outputTokens } = usage
  const tokens = `${inputTokens} input and ${outputTokens} output tokens`
  const lines = [
    content ?? refusal ?? '',
    '',
    `${receipt.model.row.id}, ${tokens}, ${cost(receipt)}.`,
    ...(choice?.finish_reason === 'length' ? ['The answer was cut at max_tokens.'] : []),
    ...notes(receipt),
  ]
  return [{ type: 'text', text: lines.join('\n') }]
}
