import type { Answered } from '../../core/call.ts'
import type { ChatRequest, ChatResult } from '../../core/chat/chat.ts'
import type { Gateway } from '../../core/gateway.ts'
import { chatToImage, ignoredFields, ignoredMessages } from '../../core/image/chat-to-image.ts'
import { makesImages } from '../../core/model.ts'
import { noUsage } from '../../core/price.ts'
import type { RouteTable } from '../../core/route.ts'
import type { ToolContent } from '../content.ts'
import { costText, warningLines } from '../receipt-text.ts'
import type { ToolHandler } from '../tool.ts'
import { pictureContent } from './pictures.ts'

type Options = { gateway: Gateway; routes: Pick<RouteTable, 'peek'> }

/** The tool `chat`: text of a language model, or pictures of an image model. */
export function chat({ gateway, routes }: Options): ToolHandler<'chat'> {
  return async ({ model: name, messages, temperature, max_tokens: maxTokens }, { context }) => {
    const options = {
      ...(temperature === undefined ? {} : { temperature }),
      ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    }
    const request: ChatRequest = { model: name, messages, ...options }
    const model = routes.peek(name, context.caller)
    if (model === undefined || !makesImages(model)) {
      return textOf(await gateway.chat(request, context))
    }
    const warnings = [...ignoredFields(request, {}), ...ignoredMessages(request)]
    return pictureContent(await gateway.image(chatToImage(request, {}), context, { warnings }))
  }
}

/** The answer, then a line with model, tokens and cost. */
function textOf({ result, usage = noUsage, receipt }: Answered<ChatResult>): ToolContent[] {
  const [choice] = result.completion.choices
  const { content, refusal } = choice?.message ?? {}
  const { inputTokens, outputTokens } = usage
  const tokens = `${inputTokens} input and ${outputTokens} output tokens`
  const lines = [
    content ?? refusal ?? '',
    '',
    `${receipt.model.row.id}, ${tokens}, ${costText(receipt)}.`,
    ...(choice?.finish_reason === 'length' ? ['The answer was cut at max_tokens.'] : []),
    ...warningLines(receipt),
  ]
  return [{ type: 'text', text: lines.join('\n') }]
}
