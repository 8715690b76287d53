/** Text of a model, as paragraphs and code blocks. It is never interpreted as HTML. */
export function Said({ text }: { text: string }) {
  return (
    <div class="spoken">
      {text.split('```').map((piece, index) =>
        index % 2 === 1 ? (
          <pre key={index} tabIndex={0} role="region" aria-label="Code">
            <code>{withoutLanguage(piece)}</code>
          </pre>
        ) : (
          piece
            .split(/\n{2,}/)
            .filter((paragraph) => paragraph.trim() !== '')
            .map((paragraph, at) => <p key={`${index} ${at}`}>{paragraph.trim()}</p>)
        ),
      )}
    </div>
  )
}

function withoutLanguage(code: string): string {
  return code.replace(/^[\w+#.-]*\n/, '').trimEnd()
}
