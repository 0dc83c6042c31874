"""Function words: articles, pronouns, prepositions and the like, which say nothing about the subject of a text.

Words are as `words.tokens_of` gives them: in lower case, without accents, and cut at apostrophes. Words that are also
common nouns of the language are not listed.
"""

from collections.abc import Mapping

RECOGNIZED = 0.05  # share of the words of texts that only this language has, above which the texts are in it

FUNCTION_WORDS: Mapping[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "English": """
            about above across after again against ago all almost along already also although always am among an and
            another any anyone anything are aren around as at away be became because become been before behind being
            below between both but by came can cannot come could couldn did didn do does doesn doing don done down
            during each either else enough etc even ever every everyone everything few for from further get gets getting
            give go goes going gone got had hadn has hasn have haven having he her here hers herself him himself his how
            however if in indeed instead into is isn it its itself just know less let like ll made make makes many may
            maybe me might more most much must my myself neither never no none nor not nothing now of off often oh on
            once one only onto or other others our ours ourselves out over own perhaps quite rather re really said same
            saw say says see seem seems seen several shall she should shouldn since so some someone something sometimes
            still such take than that the their theirs them themselves then there therefore these they thing things
            think this those though through thus to together too toward towards under until up upon us use used using ve
            very want was wasn way we well went were weren what whatever when where whether which while who whole whom
            whose why will with within without won would wouldn yes yet you your yours yourself
        """,
        "German": """
            aber alle allem allen aller alles als also am an ander andere anderen anders auch auf aus bei beim bereits
            bin bis bist bitte da dabei dadurch dafur dagegen daher damit dann dar daran darauf daraus darf darin
            daruber darum das dass davon dazu dein deine dem den denen denn der deren des deshalb dessen dich die dies
            diese diesem diesen dieser dieses dir doch dort du durch durfen ein eine einem einen einer eines einige er
            erst es etwa etwas euch euer fur gar gegen gehabt gemacht genau gewesen gibt ging hab habe haben hat hatte
            hatten her hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer in ins ist ja jede jedem
            jeden jeder jedes jedoch jener jetzt kann kein keine keinem keinen keiner kommt konnen konnte konnten lassen
            machen mal man mehr mein meine meinem meinen meiner mich mir mit muss mussen musste nach nachdem neben nein
            nicht nichts nie noch nun nur ob oben oder oft ohne schon sehr sei sein seine seinem seinen seiner seit
            seitdem selbst sich sie sind so sogar solche soll sollen sollte sollten somit sondern sonst soviel sowie
            uber um und uns unser unsere unter viel viele vielen vom von vor wann war waren warum was weder weil weiter
            welche welchem welchen welcher wenn wer werde werden wie wieder will wir wird wirklich wo wollen worden
            wurde wurden zu zum zur zwar zwischen
        """,
        "French": """
            ai aie aient ainsi alors apres as au aucun aucune aujourd aussi autre autres aux avaient avait avant avec
            avez avoir avons car ce ceci cela celle celles celui cependant ces cet cette ceux chaque chez ci comme
            comment contre dans de deja depuis des deux devant doit donc dont du elle elles en encore entre es est et
            etaient etait etant ete etes etre eu eux faire fait fois font furent hors hui ici il ils jamais je jusqu la
            laquelle le lequel les lesquels leur leurs lors lorsque lui ma mais malgre me meme memes mes mieux moi moins
            mon ne ni nos notre nous on ont ou par parce parfois parmi pas pendant peu peut peuvent plus plusieurs pour
            pourquoi pouvait pres puis puisque qu quand que quel quelle quelles quelque quelques quels qui quoi sa sans
            sauf se selon sera seraient serait ses seulement si sien sinon soi soit sommes son sont sous souvent suis
            sur ta tandis te tel telle tes toi ton toujours tous tout toute toutes tres trop tu un une va vers voici
            voila vos votre vous vu
        """,
        "Spanish": """
            ahi ahora al algo alguien algun alguna algunas alguno algunos alla alli ambos ante antes aquel aquella
            aquellas aquellos aqui asi aun aunque bajo bien cada casi como con contra cual cuales cualquier cuando
            cuanto cuyo de debe del demas desde despues donde dos durante el ella ellas ellos en entonces entre era eran
            eres es esa esas ese eso esos esta estaba estaban estado estamos estan estar estas este esto estos estoy fue
            fueron ha haber habia habian hace hacer hacia han hasta hay he incluso la las le les lo los luego mas me
            mejor menos mi mientras mis misma mismo mucha muchas mucho muchos muy nada ni ningun ninguna no nos nosotros
            nuestra nuestro nunca os otra otras otro otros para parte pero poco por porque pueda puede pueden pues que
            quien quienes se sea segun ser si sido siempre sin sino sobre solo son soy su sus suyo tal tambien tampoco
            tan tanto te tener tenia ti tiene tienen toda todas todavia todo todos tras tu tus un una unas uno unos
            usted ustedes va vez vosotros ya yo
        """,
        "Italian": """
            ad agli ai al alcuni alcuno alla alle allo allora altra altre altri altro anche ancora avere aveva avevano
            ben bene che chi ci cio coi col come con contro cosa cosi cui da dagli dai dal dalla dalle dallo degli dei
            del della delle dello dentro di dopo dove due dunque ed egli ella era erano essere esso esta fa fare fatto
            fino fra fu furono gia gli ha hai hanno ho il in infatti io la le lei li lo loro lui ma mai me meno mentre
            mi mia mie miei mio molta molti molto ne negli nei nel nella nelle nello nessun nessuno niente noi non
            nostra nostri nostro nulla ogni oltre oppure ora per perche percio pero piu po poco poi poiche prima puo qua
            qualche quale quali quando quanto quasi quel quella quelle quelli quello questa queste questi questo qui
            quindi sara se secondo sei sempre senza si sia siamo sono sopra sotto sta stata stati stato su sua sue sugli
            sui sul sulla sulle suo suoi tale tanto te ti tra tu tua tue tuo tuoi tutta tutte tutti tutto un una uno va
            verso vi voi vostra vostro
        """,
        "Portuguese": """
            ainda alem algo alguem algum alguma algumas alguns ao aos apenas apos aquela aquelas aquele aqueles aquilo
            as assim ate atraves bem cada com como contra contudo cujo da das de dela delas dele deles depois desde
            dessa desse desta deste deve disso disto do dois dos duas durante ela elas ele eles em enquanto entao entre
            era eram essa essas esse esses esta estao estar estas estava estavam este estes estou eu faz fazer foi fora
            foram ha isso isto ja la lhe lhes logo mais mas me mesma mesmo meu meus minha minhas muita muitas muito
            muitos na nada nao nas nela nele nem nenhum nenhuma nessa nesse nesta neste no nos nossa nosso num numa
            nunca onde os ou outra outras outro outros para pela pelas pelo pelos pode podem pois por porem porque quais
            qual qualquer quando quanto quase que quem sao se seja sem sempre sendo ser sera seu seus si sido so sob
            sobre sua suas talvez tambem tanto te tem tendo ter teu tinha toda todas todavia todo todos tua tudo um uma
            umas uns vai voce voces vos
        """,
        "Dutch": """
            aan achter al alle alleen alles als altijd andere ben bij binnen boven daar daarom dan dat de deze die dit
            doch doen door dus echter een eens eerst elk elke en er erg ervan even gaan gaat ge geen geweest haar had
            hadden heb hebben heeft hem hen het hier hij hoe hun iemand iets ik in is ja je jij jou jouw kan komen komt
            kon konden kunnen maar me meer men met mij mijn misschien moet moeten mogen na naar naast niemand niet niets
            nog nooit nu of om omdat onder ons onze ook op over per reeds samen sinds slechts te tegen ten ter terwijl
            toch toen tot tussen uit uw van vanaf vandaag veel via voor vooral waar waarom wanneer want waren was wat
            weer wel welke werd werden wie wij wil wilde worden wordt zal ze zeer zelf zich zij zijn zo zoals zonder zou
            zouden
        """,
    }.items()
}


# Words of one language alone, by which texts in it are recognized.
_OWN = {
    language: words.difference(*(other for name, other in FUNCTION_WORDS.items() if name != language))
    for language, words in FUNCTION_WORDS.items()
}


def languages_of(occurrences: Mapping[str, int]) -> list[str]:
    """The languages of texts with so many occurrences of each word: those with enough function words there."""
    least = RECOGNIZED * sum(occurrences.values())
    found = {language: sum(occurrences.get(word, 0) for word in own) for language, own in _OWN.items()}
    return [language for language, count in found.items() if count > least]
