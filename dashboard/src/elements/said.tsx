import { useEffect, useRef } from 'preact/hooks'

/** Says what was done, where the focus goes on from. */
export function Said({ text }: { text: string | undefined }) {
  const element = useRef<HTMLParagraphElement>(null)
  useEffect(() => {
    if (text !== undefined) element.current?.focus()
  }, [text])
  if (text === undefined) return null
  return (
    <p ref={element} class="said" role="status" tabIndex={-1}>
      {text}
    </p>
  )
}
