import type { Answered } from '../../core/call.ts'
import type { CallContext } from '../../core/caller.ts'
import type { ChatRequest, ChatResult } from '../../core/chat/chat.ts'
import { chatInputs, pictureInputs, readChat } from '../../core/chat/read-chat.ts'
import { withName } from '../../core/error.ts'
import type { Gateway } from '../../core/gateway.ts'
import { prune } from '../../core/prune.ts'
import { noTexts } from '../../core/image/image.ts'
import { noUsage } from '../../core/money/price.ts'
import type { ToolContent, ToolHandler } from '../tool.ts'
import { conversationOf, type OpenPicture } from './input-pictures.ts'
import type { ReceiptText, ShowPictures } from './results.ts'

type Options = {
  gateway: Gateway
  show: ShowPictures
  open: OpenPicture
  receiptText: ReceiptText
}

/** The tool `chat`: returns text of a language model, or pictures of an image model. */
export function chat(options: Options): ToolHandler<'chat'> {
  return async (input, { context }) => {
    const { model, temperature, max_tokens } = input
    const { messages, nameOf } = await conversationOf(input.messages, context, options.open)
    const request = { model, messages, ...prune({ temperature, max_tokens }) }
    try {
      return await answer(request, context, options)
    } catch (error) {
      throw withName(error, nameOf)
    }
  }
}

async function answer(
  request: ChatRequest,
  context: CallContext,
  { gateway, show, receiptText }: Options,
): Promise<readonly ToolContent[]> {
  const read = readChat(request, { ...context, texts: noTexts }, gateway)
  const noting = { ...context, warnings: read.warnings }
  return read.pictureVendor === undefined
    ? textOf(await gateway.chat(chatInputs(read), noting), receiptText)
    : show(await gateway.image(pictureInputs(read), noting), context)
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
