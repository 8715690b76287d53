/** A vendor under the name its users know: where it is, and which variables configure it. */
export type Vendor = {
  id: string
  name: string
  /** The first that is set holds the key, or several separated by commas. */
  keyVariables: readonly string[]
  baseUrlVariable: string
  baseUrl: string
  /** Where below the base URL it speaks OpenAI's protocol. */
  openAiPath: string
  /** Whether its pictures come over OpenAI's protocol as well. */
  openAiImages?: true
  /** The catalog lists none of its models: any is passed on. */
  anyModel?: true
}

const openAiShaped = (id: string, name: string, baseUrl: string): Vendor => ({
  id,
  name,
  keyVariables: [`${id.toUpperCase()}_API_KEY`],
  baseUrlVariable: `${id.toUpperCase()}_BASE_URL`,
  baseUrl,
  openAiPath: '',
})

/** The vendors that a variable alone configures (behaviour.md section 10, providers.md). */
export const vendors: readonly Vendor[] = [
  {
    id: 'google',
    name: 'Google Gemini',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'],
    baseUrlVariable: 'GEMINI_BASE_URL',
    baseUrl: 'https://generativelanguage.googleapis.com',
    openAiPath: '/v1beta/openai',
  },
  {
    id: 'alibaba',
    name: 'Alibaba Cloud Model Studio',
    keyVariables: ['DASHSCOPE_API_KEY'],
    baseUrlVariable: 'DASHSCOPE_BASE_URL',
    baseUrl: 'https://dashscope-intl.aliyuncs.com',
    openAiPath: '/compatible-mode/v1',
  },
  openAiShaped('zai', 'Z.AI', 'https://api.z.ai/api/paas/v4'),
  {
    ...openAiShaped(
      'bytedance',
      'BytePlus ModelArk',
      'https://ark.ap-southeast.bytepluses.com/api/v3',
    ),
    keyVariables: ['ARK_API_KEY'],
    baseUrlVariable: 'ARK_BASE_URL',
  },
  { ...openAiShaped('openai', 'OpenAI', 'https://api.openai.com/v1'), openAiImages: true },
  { ...openAiShaped('anthropic', 'Anthropic', 'https://api.anthropic.com'), openAiPath: '/v1' },
  openAiShaped('mistral', 'Mistral', 'https://api.mistral.ai/v1'),
  openAiShaped('deepseek', 'DeepSeek', 'https://api.deepseek.com'),
  openAiShaped('groq', 'Groq', 'https://api.groq.com/openai/v1'),
  openAiShaped('xai', 'xAI', 'https://api.x.ai/v1'),
  { ...openAiShaped('together', 'Together', 'https://api.together.xyz/v1'), anyModel: true },
  { ...openAiShaped('openrouter', 'OpenRouter', 'https://openrouter.ai/api/v1'), anyModel: true },
  { ...openAiShaped('moonshot', 'Moonshot', 'https://api.moonshot.ai/v1'), anyModel: true },
]
